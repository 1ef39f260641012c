import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { checkGivenReason } from '#shared/refunds/decisions/approve.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Form, type FormState } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Notice } from '../../components/notice.tsx';
import { confirmMember, contextOf, needs, useMember } from '../../http/access.ts';
import { capitalized, entered, enteredList, readForm } from '../../http/forms.ts';
import { Frame } from '../../layout/frame.tsx';
import { BulkFields, bulkPath, pageQuery } from './bulk-selection.tsx';
import { decide } from './decisions.tsx';

/** No page of the list is longer. */
const maxRefunds = 50;

const formSchema = z
  .object({
    refund: z
      .array(z.string().max(100))
      .min(1, 'Select at least one refund.')
      .max(maxRefunds, `Select at most ${maxRefunds} refunds.`),
    decision: z.enum(['approve', 'reject', 'recheck'], 'Choose one.'),
    rejectReason: z.string(),
  })
  .superRefine(({ decision, rejectReason }, { addIssue }) => {
    const problem = decision === 'reject' ? checkGivenReason(rejectReason) : null;
    if (problem !== null) {
      addIssue({ code: 'custom', path: ['rejectReason'], message: `${capitalized(problem)}.` });
    }
  });

/** `POST /refunds/decisions`: one decision about each of several refunds, by the rules of a single one. */
export function bulkDecisionRoute(scope: Api, deps: ApiDependencies): void {
  scope.post('/refunds/decisions', needs('operator', 'confirmed'), async (request, reply) => {
    const { body } = request;
    const context = contextOf(request);
    const ids = [...new Set(enteredList(body, 'refund'))];
    const fields = { decision: entered(body, 'decision'), rejectReason: entered(body, 'rejectReason') };
    const reading = readForm(formSchema, { refund: ids, ...fields });
    if (reading.kind === 'invalid') {
      const form = { body, problems: { form: reading.problems.refund, ...reading.problems } };
      reply.code(400);
      return <Unfinished ids={ids} form={form} />;
    }
    const { decision } = reading.value;
    const results: Decided[] = [];
    // One after another: each is a transaction of its own, and one that is refused stops no other.
    for (const id of ids) {
      try {
        // Many may take long, and the user may have lost the role meanwhile.
        await confirmMember(deps, request);
        const refund = await findOwnRefund(deps.db, context.owner, id);
        const result = await decide(deps, decision, { refund, actor: context.actor, body });
        results.push({ id, refusal: refusalOf(result) });
      } catch (error) {
        if (!(error instanceof ServiceError))
          request.log.error({ err: error, refundId: id }, 'decision failed');
        results.push({ id, refusal: error instanceof ServiceError ? error.message : unexpected });
      }
    }
    return <Results decision={decision} results={results} />;
  });
}

const unexpected = 'Something went wrong. Open the refund to see its state before you try again.';

/** A refund, and why it was not decided; null when it was. */
interface Decided {
  id: string;
  refusal: string | null;
}

function refusalOf(result: Awaited<ReturnType<typeof decide>>): string | null {
  if (result.kind === 'done') return null;
  if (result.kind === 'too-late') return result.message;
  return Object.values(result.decision.problems).find((problem) => problem !== undefined) ?? unexpected;
}

/** The page of the list that the refunds were selected on. */
function listOf(query: unknown): string {
  return `/refunds${pageQuery(query)}`;
}

const doneBadge = <Badge tone="good">Done</Badge>;
const refusedBadge = <Badge tone="warn">Refused</Badge>;
const doneWords = { approve: 'Approved', reject: 'Rejected', recheck: 'Recheck requested' };

interface ResultsProps {
  decision: keyof typeof doneWords;
  results: readonly Decided[];
}

function Results({ decision, results }: ResultsProps) {
  const { query } = useMember();
  const done = results.filter(({ refusal }) => refusal === null).length;
  const refused = results.length - done;
  return (
    <Frame
      title="Results"
      section="refunds"
      actions={<ButtonLink to={listOf(query)}>Back to the list</ButtonLink>}
    >
      <Notice tone={refused === 0 ? 'good' : 'warn'}>
        {doneWords[decision]}: {done}.{refused === 0 ? null : ` Refused, and not changed: ${refused}.`}
      </Notice>
      <List
        caption="Result for each refund"
        items={results}
        columns={[
          [
            'Refund',
            ({ id }) => (
              <Link class="row-link" to={`/refunds/${encodeURIComponent(id)}`}>
                <code>{id}</code>
              </Link>
            ),
          ],
          ['Result', ({ refusal }) => (refusal === null ? doneBadge : refusedBadge)],
          ['Reason', ({ refusal }) => refusal],
        ]}
      />
    </Frame>
  );
}

/** The form again, with what has to be corrected. */
function Unfinished({ ids, form }: { ids: readonly string[]; form: FormState }) {
  const { query } = useMember();
  return (
    <Frame title="Decide" section="refunds">
      <Form form={form} to={bulkPath(query)} submit="Decide" cancel={listOf(query)}>
        <p>Selected: {ids.length}.</p>
        {ids.slice(0, maxRefunds).map((id) => (
          <input key={id} type="hidden" name="refund" value={id} />
        ))}
        <BulkFields form={form} />
      </Form>
    </Frame>
  );
}
