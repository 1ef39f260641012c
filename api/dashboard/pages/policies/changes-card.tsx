import type { ChangedLine, PolicyChanges } from './changes.ts';
import { PolicyLines } from './policy-cards.tsx';

/** What becomes of the policies: which come, which go, and what the others say instead. */
export function ChangesCard({ changes }: { changes: PolicyChanges }) {
  const { added, removed, changed, isReordered, isNothing } = changes;
  return (
    <section class="card stack" aria-labelledby="changes-title">
      <h2 id="changes-title">What changes</h2>
      {isNothing ? <p>Nothing: these are the policies that hold.</p> : null}
      {removed.map(({ name }) => (
        <h3 key={name}>Removed: {name}</h3>
      ))}
      {added.map((policy) => (
        <div key={policy.name} class="stack-tight">
          <h3>Added: {policy.name}</h3>
          <PolicyLines policy={policy} />
        </div>
      ))}
      {changed.map(({ policy, lines }) => (
        <div key={policy.name} class="stack-tight">
          <h3>Changed: {policy.name}</h3>
          <dl class="facts">
            {lines.map((line) => (
              <Line key={line.name} {...line} />
            ))}
          </dl>
        </div>
      ))}
      {isReordered ? <p>They are asked in another order.</p> : null}
    </section>
  );
}

function Line({ name, was, becomes }: ChangedLine) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <ins>{becomes ?? 'nothing'}</ins> <span class="muted">instead of</span> <del>{was ?? 'nothing'}</del>
      </dd>
    </>
  );
}
