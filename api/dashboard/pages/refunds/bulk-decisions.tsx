import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { checkGivenReason } from '#shared/refunds/decisions/approve.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Form, FormNotice, useSubmitted } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Notice } from '../../components/notice.tsx';
import { confirmed, confirmMember, contextOf, useMember } from '../../http/access.ts';
import { enteredList } from '../../http/forms.ts';
import { formPage } from '../../http/page.ts';
import { Frame } from '../../layout/frame.tsx';
import { BulkFields, bulkPath, pageAddress } from './bulk-selection.tsx';
import { decide } from './decisions.ts';

/** No page of the list is longer. */
const maxRefunds = 50;

const formSchema = z
  .object({
    refund: z.preprocess(
      (ids) => [...new Set([ids ?? []].flat())],
      z
        .array(z.string().max(100))
        .min(1, 'Select at least one refund.')
        .max(maxRefunds, `Select at most ${maxRefunds} refunds.`),
    ),
    decision: z.enum(['approve', 'reject', 'recheck'], 'Choose one.'),
    rejectReason: z.string().default(''),
  })
  .superRefine(({ decision, rejectReason }, { addIssue }) => {
    const problem = decision === 'reject' ? checkGivenReason(rejectReason) : null;
    if (problem !== null) {
      addIssue({ code: 'custom', path: ['rejectReason'], message: problem });
    }
  });

/** `POST /refunds/decisions`: one decision about each of several refunds, by the rules of a single one. */
export function bulkDecisionRoute(scope: Api, deps: ApiDependencies): void {
  formPage(scope, '/refunds/decisions', confirmed('operator'), formSchema, {
    run: async (request, entries) => <Results {...(await decideAll(deps, request, entries))} />,
    again: () => <Unfinished />,
  });
}

async function decideAll(
  deps: ApiDependencies,
  request: FastifyRequest,
  { refund: ids, decision }: z.output<typeof formSchema>,
): Promise<ResultsProps> {
  const { body } = request;
  const { owner, actor } = contextOf(request);
  const results: Decided[] = [];
  // One after another: each is a transaction of its own, and one that is refused stops no other.
  for (const id of ids) {
    try {
      // Many may take long, and the user may have lost the role meanwhile.
      await confirmMember(deps, request);
      const refund = await findOwnRefund(deps.db, owner, id);
      const result = await decide(deps, decision, { refund, actor, body });
      results.push({ id, refusal: refusalOf(result) });
    } catch (error) {
      if (!(error instanceof ServiceError))
        request.log.error({ err: error, refundId: id }, 'decision failed');
      results.push({ id, refusal: error instanceof ServiceError ? error.message : unexpected });
    }
  }
  return { decision, results };
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
  return Object.values(result.problems).find((problem) => problem !== undefined) ?? unexpected;
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
      actions={<ButtonLink to={pageAddress(query)}>Back to the list</ButtonLink>}
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
function Unfinished() {
  const { query } = useMember();
  const to = bulkPath(query);
  const { body, problems } = useSubmitted(to) ?? {};
  const ids = enteredList(body, 'refund');
  return (
    <Frame title="Decide" section="refunds">
      <FormNotice problem={problems?.refund} />
      <Form to={to} submit="Decide" cancel={pageAddress(query)}>
        <p>Selected: {ids.length}.</p>
        {ids.slice(0, maxRefunds).map((id) => (
          <input key={id} type="hidden" name="refund" value={id} />
        ))}
        <BulkFields />
      </Form>
    </Frame>
  );
}
