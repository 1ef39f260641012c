import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { type Replay, replayedDays, replayPolicies } from '#shared/insights/replay.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type Policy, policySchema } from '#shared/policies/policy.ts';
import { digestPolicies } from '#shared/policies/policy-file.ts';
import { changePolicies, listPolicies } from '#shared/policies/stored-policies.ts';
import { ButtonLink } from '../../components/button.tsx';
import { keptWhenRefused } from '../../components/live.tsx';
import { Notice } from '../../components/notice.tsx';
import { confirmed, contextOf, useAddress, useMember } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { leadTo, page } from '../../http/page.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { asSentence } from '../../words/words.ts';
import { isUnapproved, readApproval } from '../refunds/approvers.tsx';
import {
  checkEnteredPolicy,
  type EnteredPolicy,
  enteredPolicyOf,
  fileWith,
  newEnteredPolicy,
  readEnteredPolicy,
} from './entered-policy.ts';
import { initiators, PolicyCards } from './policy-cards.tsx';
import { policyFields } from './policy-fields.ts';
import { PolicyForm, type PolicyFormProps, policyFormId } from './policy-form.tsx';
import { ReplayCard } from './replay-card.tsx';

const conflict = 'Someone else changed the policies. Reload and try again.';

/** The policies of an organization as cards, and a form that adds or edits one of them. */
export function policyPages(scope: Api, deps: ApiDependencies): void {
  const policiesFor = (request: FastifyRequest) => listPolicies(deps.db, contextOf(request).organization.id);
  const admin = confirmed('admin');

  /** Changes the stored policies if they are still those that the form or the button was shown with. */
  const change = async (request: FastifyRequest, fileOf: (stored: readonly Policy[]) => object | null) => {
    const { organization, actor } = contextOf(request);
    const basedOn = entered(request.body, 'basedOn');
    const target = { organizationId: organization.id, actor, basedOn };
    return (await changePolicies(deps, { ...target, change: fileOf })) === 'saved';
  };

  /** Who can first approve what the form holds back and the stored policy does not; null when someone can now, or need not. */
  const findUnapproved = async (request: FastifyRequest, { policy, replaces }: PolicyFormProps) => {
    const stored = (await policiesFor(request)).find(({ name }) => name === replaces);
    if (!addsApproval(stored === undefined ? null : enteredPolicyOf(stored), policy)) return null;
    const approval = await readApproval(deps, request, contextOf(request).actor);
    return isUnapproved(approval) ? approval : null;
  };

  const readPolicies = async (request: FastifyRequest) => ({ policies: await policiesFor(request) });
  const policies = page(scope, '/policies', 'viewer', readPolicies, PoliciesPage);
  policies.button('/policies/delete', admin, async (request, _entries, reply) => {
    if (await change(request, (stored) => fileWithout(stored, request.body))) return 'policies-saved';
    reply.code(409);
    return { problem: conflict };
  });

  const readNew = async (request: FastifyRequest) => {
    const stored = await policiesFor(request);
    // Checked before all others by default: a policy after one for every refund is never applied.
    const priority = Math.max(0, (stored[0]?.priority ?? 20) - 10);
    return { basedOn: digestPolicies(stored), replaces: '', policy: newEnteredPolicy(priority) };
  };
  const editor = page(scope, '/policies/new', 'admin', readNew, Editor);
  page(scope, '/policies/edit', 'admin', (request) => readEdited(deps, request), Editor);

  editor.form('/policies', admin, z.unknown(), async (request, body, reply) => {
    const form = enteredIn(body);
    const reading = checkEnteredPolicy(await policiesFor(request), form.policy, form.replaces);
    if (reading.kind === 'invalid') return refuse(reply, form, reading.problems);
    const unapproved = entered(body, 'unapproved') === '' ? await findUnapproved(request, form) : null;
    if (unapproved !== null) {
      reply.code(400);
      return <Editor {...form} unapproved={unapproved} />;
    }
    const fileOf = (stored: readonly Policy[]) => fileWith(stored, form.policy, form.replaces);
    if (await change(request, fileOf)) return leadTo('/policies', 'policies-saved');
    return conflicted(reply, form);
  });

  editor.form('/policies/replay', 'admin', z.unknown(), async (request, body, reply) => {
    const form = enteredIn(body);
    const current = await policiesFor(request);
    const reading = checkEnteredPolicy(current, form.policy, form.replaces);
    if (reading.kind === 'invalid') return refuse(reply, form, reading.problems);
    if (digestPolicies(current) !== form.basedOn) return conflicted(reply, form);
    return <Editor {...form} {...(await readReplays(deps, request, current, reading.value))} />;
  });
}

/** The form as it was submitted. */
function enteredIn(body: unknown): PolicyFormProps {
  const [basedOn, replaces] = [entered(body, 'basedOn'), entered(body, 'replaces')];
  return { basedOn, replaces, policy: readEnteredPolicy(body) };
}

function refuse(reply: FastifyReply, form: PolicyFormProps, problems: FormProblems) {
  reply.code(400);
  return <Editor {...form} problems={problems} />;
}

function conflicted(reply: FastifyReply, form: PolicyFormProps) {
  reply.code(409);
  return <Editor {...form} problems={{ form: conflict }} isStale />;
}

/** The form of a stored policy; with `block` in the address, as if its denials were binding for a source, beside its replay. */
async function readEdited(deps: ApiDependencies, request: FastifyRequest): Promise<EditorProps> {
  const { organization, query } = contextOf(request);
  const policies = await listPolicies(deps.db, organization.id);
  const policy = policies.find(({ name }) => name === entered(query, 'name'));
  if (policy === undefined) throw new ServiceError('not_found', 'Policy not found.');
  const stored = { basedOn: digestPolicies(policies), replaces: policy.name };
  const block = entered(query, 'block');
  if (block === '') return { ...stored, policy: enteredPolicyOf(policy) };
  const blocking = { ...enteredPolicyOf(policy), [`enforce.${block}`]: 'yes' };
  const reading = checkEnteredPolicy(policies, blocking, policy.name);
  const proposed = reading.kind === 'valid' ? reading.value : policies;
  return { ...stored, policy: blocking, ...(await readReplays(deps, request, policies, proposed)) };
}

/** What the proposed policies would have decided in test and live, or why that was not found out. */
async function readReplays(
  deps: ApiDependencies,
  request: FastifyRequest,
  current: readonly Policy[],
  proposed: readonly Policy[],
): Promise<Pick<EditorProps, 'replays' | 'problems'>> {
  const { organizationId } = contextOf(request).owner;
  const sets = { current, proposed };
  try {
    const replays = {
      test: await replayPolicies(deps, { organizationId, environment: 'test' }, sets),
      live: await replayPolicies(deps, { organizationId, environment: 'live' }, sets),
    };
    return { replays };
  } catch (error) {
    const isBusy = error instanceof ServiceError && error.code === 'service_unavailable';
    // A page opens without it; a part of one keeps what it showed.
    if (!isBusy || isForPart(request)) throw error;
    return { problems: { form: error.message } };
  }
}

/** Whether an edited policy asks for approval in a way in which the one before does not. */
function addsApproval(before: EnteredPolicy | null, policy: EnteredPolicy): boolean {
  return policyFields.some(
    ({ name }) => name.startsWith('approvalAbove') && policy[name] !== '' && policy[name] !== before?.[name],
  );
}

/** Null for a policy that was renamed or deleted since the page was opened. */
function fileWithout(stored: readonly Policy[], body: unknown): object | null {
  const kept = stored.filter(({ name }) => name !== entered(body, 'name'));
  const isKept = kept.length === stored.length;
  return isKept ? null : { policies: kept.map((each) => policySchema.encode(each)) };
}

interface PoliciesPageProps {
  policies: readonly Policy[];
  /** Why the last action did nothing. */
  problem?: string;
}

function PoliciesPage({ policies, problem }: PoliciesPageProps) {
  const isEditable = mayAct(useMember().role, 'admin');
  const add = (
    <ButtonLink kind="primary" to="/policies/new">
      Add policy
    </ButtonLink>
  );
  return (
    <Frame title="Policies" section="policies" actions={isEditable ? add : undefined}>
      {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
      <p class="muted">Policies apply to test and live. The first policy that matches a refund decides.</p>
      <PolicyCards {...{ policies, isEditable }} basedOn={digestPolicies(policies)} />
    </Frame>
  );
}

type EditorProps = PolicyFormProps & { replays?: Readonly<Record<Environment, Replay>> };

/** The form, beside what its policy would have decided, which follows the form as it changes. */
function Editor({ replays, ...form }: EditorProps) {
  const address = useAddress('/policies/replay');
  const { environment, query } = useMember();
  const block = Object.entries(initiators).find(([initiator]) => initiator === entered(query, 'block'));
  const shown = environment === 'test' ? (['test', 'live'] as const) : (['live', 'test'] as const);
  const result =
    replays && shown.map((each) => <ReplayCard key={each} environment={each} replay={replays[each]} />);
  if (isForPart(useRequest())) return <>{result ?? <NoReplay problems={form.problems} />}</>;
  return (
    <Frame title={form.replaces === '' ? 'Add policy' : 'Edit policy'} section="policies">
      <div class="with-beside">
        <div
          class="beside stack"
          hx-post={address}
          hx-include={`#${policyFormId}`}
          hx-trigger={`change from:#${policyFormId} delay:300ms`}
          hx-sync="this:replace"
          {...keptWhenRefused}
        >
          {block && <Notice tone="wait">Save to block what this policy denies {block[1]}.</Notice>}
          {result ?? (
            <p class="muted">
              Change a field to see what the policies would have decided about the refunds of the last{' '}
              {replayedDays} days, in test and live.
            </p>
          )}
        </div>
        <PolicyForm {...form} />
      </div>
    </Frame>
  );
}

/** The first of the problems, which the form shows once it is sent. */
function NoReplay({ problems = {} }: { problems: FormProblems | undefined }) {
  const [[field, problem] = []] = Object.entries(problems);
  const label = policyFields.find(({ name }) => name === field)?.label;
  return (
    <Notice tone="warn">
      No replay. {label && `${label}: `}
      {asSentence(problem ?? '')}
    </Notice>
  );
}
