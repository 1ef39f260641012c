import { mayAct } from '../../../../shared/people/roles.ts';
import type { AccountSummary } from '../../../../shared/processors/accounts/manage-accounts.ts';
import type { ConnectionTest } from '../../../../shared/processors/accounts/test-connection.ts';
import { processorKind } from '../../../../shared/processors/registry.ts';
import type { Context } from '../../http/access.ts';
import { Badge } from '../../layout/badge.tsx';
import { CsrfField } from '../../layout/form.tsx';
import { Notice } from '../../layout/notice.tsx';
import { CopyButton, Moment } from '../../layout/values.tsx';
import { answeredIn } from './once.tsx';

export interface AccountCardProps {
  context: Context;
  processor: string;
  /** Null where none is set up. */
  account: AccountSummary | null;
  /** The scheme and host of this service. */
  origin: string;
  now: Date;
  /** What a test has shown just now. */
  test: ConnectionTest | null;
}

/** One processor: whether its account works, where its webhooks go, and what can be done. */
export function AccountCard(props: AccountCardProps) {
  const { context, processor, account, test } = props;
  const { displayName } = processorKind(processor);
  return (
    <section class="card stack" id={`account-${processor}`} aria-labelledby={`${processor}-title`}>
      <div class="spread">
        <h2 id={`${processor}-title`}>{displayName}</h2>
        <State {...props} />
      </div>
      {test === null ? null : <TestResult test={test} displayName={displayName} />}
      {account === null ? (
        <p class="muted">
          Refunds of payments at {displayName} are refused until its account is set up.
          {mayAct(context.role, 'admin') ? null : ' Ask an admin to do it.'}
        </p>
      ) : (
        <Facts {...props} account={account} />
      )}
      {mayAct(context.role, 'admin') ? <Acts {...props} /> : null}
    </section>
  );
}

/** Only a test tells that an account works; without one it is no more than set up. */
function State({ account, now, test }: AccountCardProps) {
  if (account === null) return <Badge tone="quiet">Not set up</Badge>;
  const { misconfiguredAt, throttledUntil } = account;
  if (misconfiguredAt !== null) return <Badge tone="bad">Refused</Badge>;
  if (throttledUntil !== null && throttledUntil > now) return <Badge tone="warn">Throttled</Badge>;
  if (test?.kind === 'works') return <Badge tone="good">Works</Badge>;
  return <Badge tone="quiet">Set up</Badge>;
}

function Facts({
  account,
  processor,
  origin,
  now,
}: Omit<AccountCardProps, 'account'> & { account: AccountSummary }) {
  const { misconfiguredAt, throttledUntil, updatedAt, id } = account;
  const webhookAddress = `${origin}/webhooks/${processor}/${id}`;
  return (
    <dl class="facts">
      {misconfiguredAt === null ? null : (
        <>
          <dt>Refused since</dt>
          <dd>
            <Moment at={misconfiguredAt} />. The processor does not take the credentials; refunds wait until
            they are replaced or work again.
          </dd>
        </>
      )}
      {throttledUntil === null || throttledUntil <= now ? null : (
        <>
          <dt>Throttled until</dt>
          <dd>
            <Moment at={throttledUntil} />. The processor asked for fewer requests; refunds go on by
            themselves after that.
          </dd>
        </>
      )}
      <dt>Credentials set</dt>
      <dd>
        <Moment at={updatedAt} />
      </dd>
      <dt>Address for webhooks</dt>
      <dd>
        <code>{webhookAddress}</code>
        <CopyButton text={webhookAddress} label="the address for webhooks" />
        <p class="small muted">
          Enter it at the processor, so that news of a refund comes at once.{' '}
          {processorKind(processor).webhooks.setUp}
        </p>
      </dd>
    </dl>
  );
}

function Acts({ context, processor, account }: AccountCardProps) {
  const base = `${context.base}/settings/accounts/${processor}`;
  const { displayName } = processorKind(processor);
  return (
    <div class="row">
      {account === null ? null : (
        <form {...answeredIn(`account-${processor}`, `${base}/test`)}>
          <CsrfField token={context.csrfToken} />
          <button type="submit" class="button">
            Test the connection<span class="visually-hidden"> to {displayName}</span>
          </button>
        </form>
      )}
      <a class="button" data-kind={account === null ? 'primary' : undefined} href={base}>
        {account === null ? 'Set up' : 'Replace the credentials'}
        <span class="visually-hidden"> of {displayName}</span>
      </a>
    </div>
  );
}

function TestResult({ test, displayName }: { test: ConnectionTest; displayName: string }) {
  switch (test.kind) {
    case 'works':
      return <Notice tone="good">{displayName} answers, and takes the credentials.</Notice>;
    case 'refused':
      return (
        <Notice tone="bad">
          <strong>The credentials are refused.</strong> Replace them, or give them the rights that they lack.
          The reason: {test.message}
        </Notice>
      );
    case 'unavailable':
      return (
        <Notice tone="warn">
          <strong>{displayName} could not be asked.</strong> That says nothing about the credentials; test
          again in a minute. The reason: {test.message}
        </Notice>
      );
    case 'throttled':
      return (
        <Notice tone="warn">
          <strong>{displayName} was not asked,</strong> because it wants fewer requests. Test again after{' '}
          <Moment at={test.until} />.
        </Notice>
      );
  }
}
