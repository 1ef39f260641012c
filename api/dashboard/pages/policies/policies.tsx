import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/people/roles.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type Policy, policySchema } from '#shared/policies/policy.ts';
import { blockable, digestPolicies, fileWithBlocking } from '#shared/policies/policy-file.ts';
import { type Replay, replayPolicies } from '#shared/policies/replay.ts';
import { changePolicies, listPolicies } from '#shared/policies/stored-policies.ts';
import { ButtonLink } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { Frame } from '../../layout/frame.tsx';
import {
  checkEnteredPolicy,
  enteredPolicyOf,
  fileWith,
  newEnteredPolicy,
  readEnteredPolicy,
} from './entered-policy.ts';
import { PolicyCards } from './policy-cards.tsx';
import { PolicyForm, type PolicyFormProps } from './policy-form.tsx';
import { ReplayCard } from './replay-card.tsx';

const admin = { config: { role: 'admin' } } as const;
const confirmed = { config: { role: 'admin', confirm: true } } as const;
const conflict = 'Someone else changed the policies. Reload and try again.';

/** The policies of an organization as cards, and a form that adds or edits one of them. */
export function policyPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/policies', { config: { role: 'viewer' } }, async (request, reply) => {
    const context = contextOf(request);
    return sendPage(
      reply,
      <PoliciesPage context={context} policies={await listPolicies(deps.db, context.organization.id)} />,
    );
  });

  scope.get('/policies/new', admin, async (request, reply) => {
    const context = contextOf(request);
    const policies = await listPolicies(deps.db, context.organization.id);
    // Checked before all others by default: a policy after one for every refund is never applied.
    const priority = Math.max(0, (policies[0]?.priority ?? 20) - 10);
    const policy = newEnteredPolicy(priority);
    return sendForm(reply, { context, basedOn: digestPolicies(policies), replaces: '', policy });
  });

  scope.get('/policies/edit', admin, async (request, reply) => {
    const context = contextOf(request);
    const policies = await listPolicies(deps.db, context.organization.id);
    const policy = policies.find(({ name }) => name === entered(request.query, 'name'));
    if (policy === undefined) throw new ServiceError('not_found', 'Policy not found.');
    const basedOn = digestPolicies(policies);
    return sendForm(reply, { context, basedOn, replaces: policy.name, policy: enteredPolicyOf(policy) });
  });

  changeRoutes(scope, deps);
}

function changeRoutes(scope: Api, deps: ApiDependencies): void {
  scope.post('/policies', confirmed, async (request, reply) => {
    const form = readForm(request);
    const { context, basedOn, policy, replaces } = form;
    const reading = checkEnteredPolicy(
      await listPolicies(deps.db, context.organization.id),
      policy,
      replaces,
    );
    if (reading.kind === 'invalid') return sendForm(reply.code(400), { ...form, problems: reading.problems });
    const outcome = await changePolicies(deps, {
      organizationId: context.organization.id,
      actor: context.actor,
      basedOn,
      change: (policies) => fileWith(policies, policy, replaces),
    });
    return outcome === 'saved' ? toPolicies(reply, context) : sendConflict(reply, form);
  });

  scope.post('/policies/replay', admin, async (request, reply) => {
    const form = readForm(request);
    const { context, basedOn, policy, replaces } = form;
    const current = await listPolicies(deps.db, context.organization.id);
    const reading = checkEnteredPolicy(current, policy, replaces);
    if (reading.kind === 'invalid') return sendForm(reply.code(400), { ...form, problems: reading.problems });
    if (digestPolicies(current) !== basedOn) return sendConflict(reply, form);
    const { whileWaiting } = request.deps;
    const sets = { current, proposed: reading.value };
    return sendForm(reply, form, await replayPolicies({ ...deps, whileWaiting }, context.owner, sets));
  });

  /** Changes the stored policies by a button of a card. */
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    fileOf: (stored: readonly Policy[], name: string) => object | null,
  ) => {
    const context = contextOf(request);
    const outcome = await changePolicies(deps, {
      organizationId: context.organization.id,
      actor: context.actor,
      basedOn: entered(request.body, 'basedOn'),
      change: (stored) => fileOf(stored, entered(request.body, 'name')),
    });
    if (outcome === 'saved') return toPolicies(reply, context);
    const policies = await listPolicies(deps.db, context.organization.id);
    return sendPage(reply.code(409), <PoliciesPage {...{ context, policies }} problem={conflict} />);
  };

  scope.post('/policies/delete', confirmed, (request, reply) =>
    change(request, reply, (stored, deleted) => {
      const kept = stored.filter(({ name }) => name !== deleted);
      // Renamed or deleted since the page was opened.
      if (kept.length === stored.length) return null;
      return { policies: kept.map((each) => policySchema.encode(each)) };
    }),
  );

  scope.post('/policies/block', confirmed, (request, reply) => {
    const initiator = blockable.find((each) => each === entered(request.body, 'initiator'));
    return change(request, reply, (stored, name) =>
      initiator === undefined ? null : fileWithBlocking(stored, name, initiator),
    );
  });
}

interface PoliciesPageProps {
  context: Context;
  policies: readonly Policy[];
  /** Why the last action did nothing. */
  problem?: string;
}

function PoliciesPage({ context, policies, problem }: PoliciesPageProps) {
  const isEditable = mayAct(context.role, 'admin');
  const add = (
    <ButtonLink kind="primary" to={`${context.base}/policies/new`}>
      Add policy
    </ButtonLink>
  );
  return (
    <Frame context={context} title="Policies" section="policies" actions={isEditable ? add : undefined}>
      {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
      <p class="muted">Policies apply to test and live. The first policy that matches a refund decides.</p>
      <PolicyCards {...{ context, policies, isEditable }} basedOn={digestPolicies(policies)} />
    </Frame>
  );
}

function readForm(request: FastifyRequest): PolicyFormProps {
  const { body } = request;
  const [basedOn, replaces] = [entered(body, 'basedOn'), entered(body, 'replaces')];
  return { context: contextOf(request), basedOn, replaces, policy: readEnteredPolicy(body) };
}

function sendForm(reply: FastifyReply, form: PolicyFormProps, replay?: Replay): FastifyReply {
  const { context, replaces } = form;
  return sendPage(
    reply,
    <Frame context={context} title={replaces === '' ? 'Add policy' : 'Edit policy'} section="policies">
      <div class="columns">
        <PolicyForm {...form} />
        {replay === undefined ? null : <ReplayCard context={context} replay={replay} />}
      </div>
    </Frame>,
  );
}

function sendConflict(reply: FastifyReply, form: PolicyFormProps): FastifyReply {
  return sendForm(reply.code(409), { ...form, problems: { form: conflict }, isStale: true });
}

function toPolicies(reply: FastifyReply, { base }: Context): FastifyReply {
  return reply.redirect(doneAt(`${base}/policies`, 'policies-saved'), 303);
}
