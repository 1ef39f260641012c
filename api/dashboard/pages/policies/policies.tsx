import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { mayAct } from '../../../../shared/people/roles.ts';
import { digestPolicies } from '../../../../shared/policies/digest.ts';
import { inOrder } from '../../../../shared/policies/policy.ts';
import { previewPolicies } from '../../../../shared/policies/preview.ts';
import { maxPolicies, tooManyPolicies } from '../../../../shared/policies/read-policy-file.ts';
import { listPolicies, savePolicies } from '../../../../shared/policies/stored-policies.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';
import { ConfirmPage } from './confirm-page.tsx';
import { asJson, checkDraft, type Draft, draftOf, readDraft, readMadeFrom } from './draft.ts';
import { readStep, takeStep } from './draft-steps.ts';
import { Editor, type EditorProps } from './editor.tsx';
import { focusAfter } from './editor-focus.ts';
import { LatePage } from './late-page.tsx';
import { PolicyCards } from './policy-cards.tsx';

const querySchema = z.object({ done: z.string().optional().catch(undefined) });
const admin = { config: { role: 'admin' as const } };

/** What refunds are allowed: the policies in their order, and for admins a form to change them, in two steps. */
export function policyPages(room: Api, deps: ApiDependencies): void {
  room.get('/policies', { config: { role: 'viewer' } }, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    const context = contextOf(request);
    const current = await listPolicies(deps.db, context.organization.id);
    const editor = { context, current, madeFrom: digestPolicies(current), draft: draftOf(current) };
    return sendPage(
      reply,
      <Frame context={context} title="Policies" room="policies">
        <div class="stack">
          {done === 'saved' ? (
            <Notice tone="good">The policies hold from now on, for test and live alike.</Notice>
          ) : null}
          <Policies {...editor} />
        </div>
      </Frame>,
    );
  });

  room.post('/policies/edit', admin, async (request, reply) => {
    const form = await readForm(deps, request);
    return sendEditor(request, reply, afterStep(form, entered(request.body, 'step')));
  });

  room.post('/policies/preview', admin, async (request, reply) => {
    const form = await readForm(deps, request);
    const { context, current, madeFrom, draft } = form;
    const reading = checkDraft(draft);
    if (reading.kind === 'invalid')
      return sendEditor(request, reply, { ...form, problems: reading.problems });
    if (digestPolicies(current) !== madeFrom) return sendLate(reply, form);
    const tried = inOrder(reading.policies);
    const preview = await previewPolicies(deps.db, context.owner, { current, tried });
    return sendPage(reply, <ConfirmPage {...form} tried={tried} preview={preview} />);
  });

  room.post('/policies', admin, async (request, reply) => {
    const form = await readForm(deps, request);
    const { context, madeFrom, draft } = form;
    const reading = checkDraft(draft);
    if (reading.kind === 'invalid')
      return sendEditor(request, reply, { ...form, problems: reading.problems });
    const organizationId = context.organization.id;
    const { file } = reading;
    const { kind } = await savePolicies(deps, { organizationId, file, actor: context.actor, madeFrom });
    switch (kind) {
      case 'saved':
        return reply.redirect(`${context.base}/policies?done=saved`, 303);
      case 'changed':
        return sendLate(reply, { ...form, current: await listPolicies(deps.db, organizationId) });
    }
  });
}

/** The form for who may change the policies, as far as one can hold them; the others read them. */
function Policies(editor: EditorProps) {
  const { context, current } = editor;
  const isAdmin = mayAct(context.role, 'admin');
  if (isAdmin && current.length <= maxPolicies) return <Editor {...editor} />;
  return (
    <>
      {isAdmin ? (
        <Notice tone="warn">
          These are {current.length} policies, more than the {maxPolicies} that can be set. Change them on the
          command line, with <code>policy show</code> and <code>policy set</code>.
        </Notice>
      ) : null}
      <PolicyCards policies={current} />
    </>
  );
}

interface SentForm {
  context: Context;
  /** The policies that hold. */
  current: Awaited<ReturnType<typeof listPolicies>>;
  madeFrom: string;
  draft: Draft;
}

async function readForm(deps: ApiDependencies, request: FastifyRequest): Promise<SentForm> {
  const context = contextOf(request);
  const current = await listPolicies(deps.db, context.organization.id);
  return { context, current, madeFrom: readMadeFrom(request.body), draft: readDraft(request.body) };
}

/** The editor after the step that a button names; without one, it goes on with what was sent. */
function afterStep(form: SentForm, text: string): EditorProps {
  const { draft } = form;
  if (text === 'json') {
    const writing = asJson(draft);
    if (writing.kind === 'invalid') return { ...form, problems: writing.problems };
    return { ...form, draft: writing.draft };
  }
  if (draft.kind === 'json') {
    if (text !== 'form') return form;
    const reading = checkDraft(draft);
    if (reading.kind === 'invalid') return { ...form, problems: reading.problems };
    return { ...form, draft: draftOf(inOrder(reading.policies)) };
  }
  const step = readStep(text);
  if (step === null) return form;
  if (step.name === 'add' && draft.policies.length >= maxPolicies) {
    return { ...form, problems: { form: `An organization ${tooManyPolicies}.` } };
  }
  const { policies, at } = takeStep(draft.policies, step);
  return { ...form, draft: { kind: 'form', policies }, focus: focusAfter(step.name, at, policies.length) };
}

/** The editor, on a page or in the place of the one that is there. */
function sendEditor(request: FastifyRequest, reply: FastifyReply, editor: EditorProps): FastifyReply {
  if (editor.problems !== undefined) reply.code(400);
  if (request.headers['hx-request'] === 'true') return sendPart(reply, <Editor {...editor} />);
  return sendPage(
    reply,
    <Frame context={editor.context} title="Policies" room="policies">
      <Editor {...editor} />
    </Frame>,
  );
}

/** Somebody else was quicker: what holds now beside what was entered, which is made from it from here on. */
function sendLate(reply: FastifyReply, form: SentForm): FastifyReply {
  const { current } = form;
  return sendPage(reply.code(409), <LatePage {...form} madeFrom={digestPolicies(current)} />);
}
