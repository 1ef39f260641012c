import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { examinePayment } from '../../../../shared/refunds/lifecycle/check-policy.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered as enteredText, type FormProblems } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { CreateCheck } from './create-check.tsx';
import { type EnteredRefund, enteredRefund, type RefundEntry, readEntry } from './create-entry.ts';
import { CreateForm } from './create-form.tsx';
import { createOnce } from './create-once.ts';
import { isLastWord, paymentProblems, refusalProblems } from './create-problems.ts';

const operator = { config: { role: 'operator' as const } };

/** `/refunds/new`: asks for a refund in two steps, the second of which shows the payment and the policies' verdict. */
export function createPages(room: Api, deps: ApiDependencies): void {
  room.get('/refunds/new', operator, async (request, reply) => {
    // What another page knows already is filled in.
    const form = {
      context: contextOf(request),
      entered: enteredRefund(request.query),
      formKey: randomUUID(),
    };
    return showForm(reply, form, {});
  });

  room.post('/refunds/new', operator, async (request, reply) => {
    const form = {
      context: contextOf(request),
      entered: enteredRefund(request.body),
      formKey: readFormKey(request.body),
    };
    const step = enteredText(request.body, 'step');
    if (step === 'change') return showForm(reply, form, {});
    const reading = readEntry(form.entered);
    if (reading.kind === 'invalid') return showForm(reply.code(400), form, reading.problems);
    return step === 'confirm'
      ? await confirm(deps, reply, form, reading.value)
      : await check(deps, reply, form, reading.value);
  });
}

interface SentForm {
  context: Context;
  entered: EnteredRefund;
  formKey: string;
}

/** A key that is none of ours is replaced: then the form is another one. */
function readFormKey(body: unknown): string {
  const key = enteredText(body, 'formKey');
  return /^[0-9a-f-]{36}$/.test(key) ? key : randomUUID();
}

function showForm(reply: FastifyReply, form: SentForm, problems: FormProblems): FastifyReply {
  return sendPage(reply, <CreateForm {...form} problems={problems} />);
}

async function check(
  deps: ApiDependencies,
  reply: FastifyReply,
  form: SentForm,
  entry: RefundEntry,
): Promise<FastifyReply> {
  const { transactionId, processor, amount, reason, metadata } = entry;
  const request = { amount, reason, metadata, initiatedBy: 'dashboard' as const };
  try {
    const question = { ...form.context.owner, transactionId, processor, request };
    const examination = await examinePayment(deps, question);
    const { payment, verdict } = examination;
    const problems = paymentProblems(entry, examination);
    if (problems !== null || payment === null) return showForm(reply.code(400), form, problems ?? {});
    return sendPage(reply, <CreateCheck {...form} entry={entry} payment={payment} verdict={verdict} />);
  } catch (error) {
    return showForm(reply.code(400), form, refusalProblems(error));
  }
}

async function confirm(
  deps: ApiDependencies,
  reply: FastifyReply,
  form: SentForm,
  entry: RefundEntry,
): Promise<FastifyReply> {
  try {
    const id = await createOnce(deps, form.context, entry, form.formKey);
    return reply.redirect(`${form.context.base}/refunds/${id}?done=created`, 303);
  } catch (error) {
    const problems = refusalProblems(error);
    const formKey = isLastWord(error) ? randomUUID() : form.formKey;
    return showForm(reply.code(400), { ...form, formKey }, problems);
  }
}
