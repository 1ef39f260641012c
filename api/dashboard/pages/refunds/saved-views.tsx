import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import {
  deleteView,
  type SavedView,
  savedViewLimits,
  saveView,
  type ViewOwner,
} from '#shared/people/members/saved-views.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Fields } from '../../components/fields.tsx';
import { contextOf, needs } from '../../http/access.ts';
import { answerForm, type FormState, readChoices } from '../../http/forms.ts';
import { leadTo } from '../../layout/done.tsx';
import { type EnteredFilter, enteredFilter, filterQuery, readFilter } from './filter.ts';
import { queryOf, viewOf, views } from './views.tsx';

const path = '/refunds/views';
const schema = z.object({
  name: z.string().trim().meta({
    title: 'Name',
    description: 'Only you see this view. A view with the same name is replaced.',
    maxLength: savedViewLimits.name,
  }),
});

/** Saving and deleting the filter in the address as a view. @param show responds with the list. */
export function savedViewRoutes(
  scope: Api,
  { db }: ApiDependencies,
  show: (reply: FastifyReply, form?: FormState) => Promise<FastifyReply>,
): void {
  scope.post(path, needs('viewer'), (request, reply) => {
    const filter = enteredFilter(request.query);
    if (readFilter(filter).kind === 'invalid' || isForEveryone(filter)) return show(reply);
    const query = queryOf(filter);
    return answerForm(reply, {
      schema,
      again: (form) => show(reply, form),
      run: async ({ name }) => {
        await saveView(db, ownerOf(request), { name, query });
        return leadTo(reply, `/refunds${query}`, 'view-saved');
      },
    });
  });

  scope.post(`${path}/delete`, needs('viewer'), async (request, reply) => {
    const { name } = readChoices(z.object({ name: z.string() }), request.body);
    await deleteView(db, ownerOf(request), name);
    return leadTo(reply, `/refunds${filterQuery(enteredFilter(request.query))}`, 'view-deleted');
  });
}

/** Whether a filter is a view that every member has, such as that without any filter. */
function isForEveryone(filter: EnteredFilter): boolean {
  return viewOf(filter, views) !== undefined;
}

/** The member whose views a request is for. */
export function ownerOf(request: FastifyRequest): ViewOwner {
  const { organization, user } = contextOf(request);
  return { organizationId: organization.id, userId: user.id };
}

interface ViewActionsProps {
  filter: EnteredFilter;
  saved: readonly SavedView[];
  /** A name that was refused. */
  form: FormState | undefined;
}

/** What can be done with a filter that is none of the views: save it, or delete it once it is saved. */
export function ViewActions({ filter, saved, form }: ViewActionsProps) {
  if (isForEveryone(filter)) return null;
  const query = queryOf(filter);
  const own = viewOf(filter, saved);
  return (
    <div class="row">
      {own === undefined || form !== undefined ? (
        <Confirm id="save-view" action="Save view" title="Save view" to={`${path}${query}`} form={form}>
          <Fields schema={schema} form={form} />
        </Confirm>
      ) : (
        <Confirm
          id="delete-view"
          action="Delete view"
          title={`Delete view “${own.name}”?`}
          kind="danger"
          to={`${path}/delete${query}`}
          values={{ name: own.name }}
        >
          <p>The refunds in it stay as they are.</p>
        </Confirm>
      )}
    </div>
  );
}
