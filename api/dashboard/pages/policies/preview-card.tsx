import { formatAmount } from '../../../../shared/money.ts';
import type { PolicyVerdict } from '../../../../shared/policies/policy.ts';
import type { PreviewedRefund } from '../../../../shared/policies/preview.ts';
import type { Context } from '../../access.ts';
import { Badge } from '../../layout/badge.tsx';
import { Empty } from '../../layout/notice.tsx';
import { Moment } from '../../layout/values.tsx';

/** What the tried policies would have said of the latest refunds, those first where it differs from what holds. */
export function PreviewCard({ context, preview }: { context: Context; preview: readonly PreviewedRefund[] }) {
  if (preview.length === 0) {
    return (
      <section class="card" id="preview">
        <Empty title="Nothing to try them on">
          <p>There is no {context.environment} refund yet whose payment is known.</p>
        </Empty>
      </section>
    );
  }
  const changed = preview.filter(isChanged);
  const rest = preview.filter((each) => !isChanged(each));
  return (
    <section class="card stack" id="preview" aria-labelledby="preview-title">
      <h2 id="preview-title">Preview</h2>
      <p>
        Of the latest {preview.length} refunds, {changed.length} would be decided differently. Limits per day
        are left out.
      </p>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th>Refund</th>
              <th class="wide-only">When</th>
              <th>Now</th>
              <th>Then</th>
            </tr>
          </thead>
          <tbody>
            {[...changed, ...rest].map((each) => (
              <Row key={each.refund.id} context={context} previewed={each} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ context, previewed }: { context: Context; previewed: PreviewedRefund }) {
  const { refund, current, tried } = previewed;
  return (
    <tr>
      <td>
        <a class="row-link" href={`${context.base}/refunds/${refund.id}`}>
          {formatAmount(refund.amount, refund.currency)}
        </a>
        <br />
        <code class="small">{refund.transactionId}</code>
      </td>
      <td class="wide-only">
        <Moment at={refund.createdAt} />
      </td>
      <td>
        <Verdict verdict={current} />
      </td>
      <td>
        <Verdict verdict={tried} />
        {isChanged(previewed) ? <p class="small">{tried.reason}</p> : null}
      </td>
    </tr>
  );
}

function Verdict({ verdict }: { verdict: PolicyVerdict }) {
  if (!verdict.eligible)
    return (
      <Badge tone={verdict.enforced ? 'bad' : 'warn'}>
        {verdict.enforced ? 'Stopped' : 'Advised against'}
      </Badge>
    );
  return verdict.approvalRequired ? (
    <Badge tone="wait">Asks a person</Badge>
  ) : (
    <Badge tone="good">Allowed</Badge>
  );
}

function isChanged({ current, tried }: PreviewedRefund): boolean {
  return (
    current.eligible !== tried.eligible ||
    current.enforced !== tried.enforced ||
    current.approvalRequired !== tried.approvalRequired
  );
}
