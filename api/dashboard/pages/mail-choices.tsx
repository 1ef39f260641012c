import { z } from 'zod';
import { kindsByRole, type NotificationKind, notificationKinds } from '#shared/notifications/kinds.ts';
import { chooseMails } from '#shared/people/members/mail-choices.ts';
import { findMembership, type organizationsOf } from '#shared/people/members/members.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { CheckboxesField, Form } from '../components/form.tsx';
import { ownSessionOf, visitorOf } from '../http/access.ts';
import { enteredList, readChoices } from '../http/forms.ts';
import { accountPath, idInPath, pageNotFound } from '../http/paths.ts';
import { leadTo } from '../layout/done.tsx';

const path = `${accountPath}/mails`;
const kindsSchema = z.array(z.enum(notificationKinds));

const kindWords: Readonly<Record<NotificationKind, string>> = {
  approvals: 'Approvals',
  attention: 'Refunds and accounts that need attention',
  processors: 'Processors that do not answer',
  webhooks: 'Disabled webhook endpoints',
  keys: 'New API keys',
};

/** Choosing which notifications the user gets by mail from an organization. */
export function mailChoiceRoute(scope: Api, deps: ApiDependencies): void {
  scope.post(`${path}/:organizationId`, { config: { confirm: true } }, async (request, reply) => {
    const { companyOf } = request.session;
    const organizationId = idInPath(request, 'organizationId', 'org');
    const membership = await findMembership(deps.db, visitorOf(request).user.id, organizationId, companyOf);
    if (membership === null) throw pageNotFound();
    const kinds = readChoices(kindsSchema, enteredList(request.body, 'kinds'));
    await chooseMails(deps, { ...ownSessionOf(request), organizationId, kinds });
    return leadTo(reply, accountPath, 'mails-chosen');
  });
}

export interface MailChoicesProps {
  organizations: Awaited<ReturnType<typeof organizationsOf>>;
}

/** A form for each organization whose notifications the user's role gets. */
export function MailChoices({ organizations }: MailChoicesProps) {
  return (
    <>
      {organizations.map(({ id, name, role, declinedMails }) => {
        const offered = kindsByRole[role];
        if (offered.length === 0) return null;
        const kinds = offered.filter((kind) => !declinedMails.includes(kind));
        return (
          <Form key={id} to={`${path}/${id}`} title={`Emails from ${name}`} submit="Save">
            <CheckboxesField
              form={{ body: { kinds }, problems: {} }}
              name="kinds"
              label="Email me about"
              choices={offered.map((kind) => [kind, kindWords[kind]])}
            />
          </Form>
        );
      })}
    </>
  );
}
