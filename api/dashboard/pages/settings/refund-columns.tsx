import type { FastifyReply } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { maxRefundColumns, setRefundColumns } from '#shared/organizations/refund-columns.ts';
import { Fields } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { actingIn, needs, useMember } from '../../http/access.ts';
import type { FormState } from '../../http/forms.ts';
import { changesOf } from '../../layout/changes.ts';
import { metadataKeysForm } from './metadata-keys.ts';

const path = '/settings/accounts/columns';
const schema = metadataKeysForm(
  `Up to ${maxRefundColumns}, separated by commas, such as order, customer, store. Leave empty to show order and customer.`,
);

/** What of the metadata lists of refunds show. @param show responds with the page that has the form. */
export function refundColumnsRoute(
  scope: Api,
  deps: ApiDependencies,
  show: (reply: FastifyReply, form: FormState) => Promise<FastifyReply>,
): void {
  const saving = { ...needs('admin'), schema, again: show };
  changesOf(scope, '/settings/accounts')(path, saving, 'columns-saved', (request, { keys }) =>
    setRefundColumns(deps, { ...actingIn(request), keys }),
  );
}

/** @param form as it was submitted; the current setting without it. */
export function RefundColumnsForm({ form }: { form: FormState | undefined }) {
  const { name, refundColumns } = useMember().organization;
  const current = { body: { keys: refundColumns.join(', ') }, problems: {} };
  return (
    <Form to={path} title="Columns of refunds" submit="Save">
      <p>
        The list of refunds, the approvals and the search results show these values, for every member of{' '}
        {name}, in test and live.
      </p>
      <Fields schema={schema} form={form ?? current} />
    </Form>
  );
}
