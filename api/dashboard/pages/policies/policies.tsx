import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../../../shared/errors.ts';
import { listPolicies, readPolicyFile, setPolicies } from '../../../../shared/organizations/policies.ts';
import { mayAct } from '../../../../shared/people/roles.ts';
import { type Policy, policyFileSchema } from '../../../../shared/policies/policy.ts';
import { type PreviewedRefund, previewPolicies } from '../../../../shared/policies/preview.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import type { Api } from '../../../route.ts';
import { jsonProblem } from '../../../strict-json.ts';
import { type Context, contextOf } from '../../access.ts';
import { entered } from '../../forms.ts';
import { CsrfField, Field, inputProps } from '../../layout/form.tsx';
import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';
import { sendPage } from '../../render.ts';
import { PolicyCards } from './policy-cards.tsx';
import { PreviewCard } from './preview-card.tsx';

const querySchema = z.object({ done: z.string().optional().catch(undefined) });

/** What refunds are allowed: the policies in their order, and a place to try others before they hold. */
export function policyPages(room: Api, deps: ApiDependencies): void {
  const show = async (
    reply: FastifyReply,
    context: Context,
    state: Omit<PoliciesProps, 'context' | 'policies'>,
  ) => {
    const policies = await listPolicies(deps.db, context.organization.id);
    return sendPage(reply, <PoliciesPage {...{ context, policies }} {...state} />);
  };

  room.get('/policies', { config: { role: 'viewer' } }, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    return await show(reply, contextOf(request), { done: done === 'saved' });
  });

  room.post('/policies/preview', { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    const file = entered(request.body, 'file');
    const reading = read(file);
    if ('problem' in reading) return await show(reply.code(400), context, { file, problem: reading.problem });
    const owner = { organizationId: context.organization.id, environment: context.environment };
    const current = await listPolicies(deps.db, owner.organizationId);
    const preview = await previewPolicies(deps.db, owner, { current, tried: reading.policies });
    return await show(reply, context, { file, preview });
  });

  room.post('/policies', { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    const file = entered(request.body, 'file');
    const reading = read(file);
    if ('problem' in reading) return await show(reply.code(400), context, { file, problem: reading.problem });
    const organizationId = context.organization.id;
    await setPolicies(deps, { organizationId, file: JSON.parse(file), actor: context.actor });
    return reply.redirect(`${context.base}/policies?done=saved`, 303);
  });
}

/** The policies that were written down, or why they are none. */
function read(file: string): { policies: Policy[] } | { problem: string } {
  try {
    const content: unknown = JSON.parse(file);
    const problem = jsonProblem(file, (literal) => `the number ${literal} cannot be kept exactly`);
    if (problem !== null) return { problem: `This cannot be used: ${problem}.` };
    return { policies: readPolicyFile(content) };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: `This is not JSON: ${error.message}` };
    if (error instanceof ServiceError) return { problem: error.message };
    throw error;
  }
}

interface PoliciesProps {
  context: Context;
  policies: readonly Policy[];
  done?: boolean;
  /** What somebody has written; what holds, unless told. */
  file?: string;
  problem?: string;
  preview?: readonly PreviewedRefund[];
}

function PoliciesPage({ context, policies, done = false, file, problem, preview }: PoliciesProps) {
  const isEditor = mayAct(context.role, 'admin');
  return (
    <Frame context={context} title="Policies" room="policies">
      <div class="stack">
        {done ? <Notice tone="good">The policies hold from now on, for test and live alike.</Notice> : null}
        <PolicyCards policies={policies} />
        {isEditor ? <Editor {...{ context, policies, file, problem }} /> : null}
        {preview === undefined ? null : <PreviewCard {...{ context, preview, file: file ?? '' }} />}
      </div>
    </Frame>
  );
}

type EditorProps = Pick<PoliciesProps, 'context' | 'policies'> & {
  file: string | undefined;
  problem: string | undefined;
};

function Editor({ context, policies, file, problem }: EditorProps) {
  const holding = JSON.stringify(policyFileSchema.encode({ policies: [...policies] }), null, 2);
  return (
    <form method="post" action={`${context.base}/policies/preview#preview`} class="card stack">
      <h2>Change the policies</h2>
      <p class="muted">
        Try them on the latest {context.environment} refunds first: the preview changes nothing.
      </p>
      <CsrfField token={context.csrfToken} />
      <Field
        name="file"
        label="Policies, the first that matches decides"
        hint="Amounts are in the smallest unit of the currency: 5000 is 50.00 USD."
        problem={problem}
      >
        <textarea {...inputProps('file', problem)} class="mono" rows={18} spellcheck={false} required>
          {file ?? holding}
        </textarea>
      </Field>
      <div>
        <button type="submit" class="button" data-kind="primary">
          Preview
        </button>
      </div>
    </form>
  );
}
