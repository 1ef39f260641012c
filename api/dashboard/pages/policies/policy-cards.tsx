import type { Policy } from '../../../../shared/policies/policy.ts';
import { policyInWords } from './policy-words.ts';

/** The policies in the order in which they are asked, in words. */
export function PolicyCards({ policies }: { policies: readonly Policy[] }) {
  return (
    <ol class="stack">
      {policies.map((policy, index) => (
        <li key={policy.name} class="card stack-tight">
          <h2>
            <span class="muted">{index + 1}.</span> {policy.name}
          </h2>
          <PolicyLines policy={policy} />
        </li>
      ))}
    </ol>
  );
}

/** What one policy says. */
export function PolicyLines({ policy }: { policy: Policy }) {
  return (
    <dl class="facts">
      {policyInWords(policy).map(([name, words]) => (
        <>
          <dt>{name}</dt>
          <dd>{words}</dd>
        </>
      ))}
    </dl>
  );
}
