import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import {
  failedRequestDays,
  failedRequestsPerDay,
  failedRequestValues,
  findFailedRequest,
  findFailedRequests,
} from '#shared/organizations/failed-requests.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import type { FailedRequest } from '#shared/platform/database.ts';
import { Badge } from '../components/badge.tsx';
import { ButtonLink, Link } from '../components/button.tsx';
import { Card, Facts } from '../components/card.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { List, Pages } from '../components/list.tsx';
import { Empty } from '../components/notice.tsx';
import { Copyable, Moment } from '../components/values.tsx';
import { contextOf, useMember } from '../http/access.ts';
import { cursorIn, filterIn } from '../http/filter.ts';
import { page } from '../http/page.ts';
import { idInPath } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import type { Choices } from '../words/words.ts';

const path = '/failed-requests';
const pageLength = 50;

const text = z
  .string()
  .regex(/^[^\p{Cc}]{1,255}$/u, 'Enter at most 255 characters in one line.')
  .optional();

const filterSchema = z.object({
  id: text.meta({ title: 'Request ID', description: 'The header x-request-id of the response.' }),
  operation: text.meta({ title: 'Operation' }),
  code: text.meta({ title: 'Error' }),
  apiKeyId: text.meta({ title: 'API key' }),
});

/** `/failed-requests`: the requests of the environment's API keys that were answered with an error, and a page for each. */
export function failedRequestPages(scope: Api, { db }: ApiDependencies): void {
  page(scope, path, 'operator', (request, reply) => readList({ db }, request, reply), FailedRequests);
  const readOne = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const failed = await findFailedRequest(db, owner, idInPath(request, 'requestId', 'req'));
    const actor = `key:${failed.apiKeyId}`;
    const names = await nameActors(db, owner.organizationId, [actor]);
    return { failed, keyName: names.get(actor) ?? '' };
  };
  page(scope, `${path}/:requestId`, 'operator', readOne, FailedRequestPage);
}

/** A page of requests, with what they can be filtered by. */
async function readList({ db }: Pick<ApiDependencies, 'db'>, request: FastifyRequest, reply: FastifyReply) {
  const { owner, query } = contextOf(request);
  const filter = filterIn(filterSchema, query);
  const { reading } = filter;
  if (reading.kind === 'invalid') reply.code(400);
  const cursor = cursorIn(query);
  const { rows: requests, next } =
    reading.kind === 'invalid'
      ? { rows: [], next: null }
      : await pageOf(
          { cursor, limit: pageLength },
          (before, limit) => findFailedRequests(db, owner, reading.value, before, limit),
          (one) => one,
        );
  const { apiKeyIds, operations, codes } = await failedRequestValues(db, owner);
  const names = await nameActors(
    db,
    owner.organizationId,
    apiKeyIds.map((id) => `key:${id}`),
  );
  const keys = new Map(apiKeyIds.map((id) => [id, names.get(`key:${id}`) ?? id]));
  return { requests, next, cursor, filter, operations, codes, keys };
}

type ListProps = Awaited<ReturnType<typeof readList>>;

function FailedRequests({ requests, next, cursor, filter, operations, codes, keys }: ListProps) {
  const anyOf = (values: readonly string[]): Choices => [
    ['', 'Any'],
    ...values.map((one) => [one, one] as const),
  ];
  const choices = {
    operation: anyOf(operations),
    code: anyOf(codes),
    apiKeyId: [['', 'Any'], ...keys] as Choices,
  };
  const { all, alike } = failedRequestsPerDay;
  const isFiltered = Object.keys(filter.entered).length > 0;
  return (
    <Frame title="Failed requests" section="failed-requests">
      <p class="muted">
        Requests to the API in the last {failedRequestDays} days that were answered with an error. At most{' '}
        {all} a day are kept, {alike} of them with the same operation and error.
      </p>
      <FilterForm to={path} schema={filterSchema} filter={filter} choices={choices} />
      {requests.length > 0 ? (
        <List
          caption="Failed requests, newest first"
          items={requests}
          columns={[
            [
              'Request',
              ({ id, operation }) => (
                <Link class="row-link" to={`${path}/${id}`}>
                  {operation}
                </Link>
              ),
            ],
            ['Error', (one) => <Answer {...one} />],
            ['API key', ({ apiKeyId }) => keys.get(apiKeyId)],
            ['Answered', ({ createdAt }) => <Moment at={createdAt} />],
          ]}
        />
      ) : (
        <Empty title={`No failed requests in ${useMember().environment}`}>
          <p>
            {isFiltered
              ? 'No failed request matches this filter.'
              : `No request with a valid API key has failed in the last ${failedRequestDays} days.`}
          </p>
          {isFiltered && <ButtonLink to={path}>Clear filters</ButtonLink>}
        </Empty>
      )}
      <Pages to={path} filter={filter.entered} cursor={cursor} older={next} />
    </Frame>
  );
}

function Answer({ status, code }: Pick<FailedRequest, 'status' | 'code'>): ComponentChildren {
  return (
    <>
      <Badge tone={status < 500 ? 'warn' : 'bad'}>{String(status)}</Badge> <code>{code}</code>
    </>
  );
}

interface FailedRequestProps {
  failed: FailedRequest;
  keyName: string;
}

function FailedRequestPage({ failed, keyName }: FailedRequestProps) {
  const { id, apiKeyId, operation, path: requested, message, body, refundId, createdAt } = failed;
  return (
    <Frame title={operation} section="failed-requests">
      <Card id="request" title="Request">
        <Facts
          facts={[
            ['Request ID', <Copyable key="id" text={id} label="the request ID" />],
            ['Path', <code key="path">{requested}</code>],
            [
              'API key',
              <Link key="key" to={`/settings/api-keys#${apiKeyId}`}>
                {keyName}
              </Link>,
            ],
            ['Answered', <Moment key="answered" at={createdAt} />],
            ['Error', <Answer key="error" {...failed} />],
            [
              'Message',
              <span key="message" class="said">
                {message}
              </span>,
            ],
            ['Refund', refundId && <Link to={`/refunds/${refundId}`}>{refundId}</Link>],
          ]}
        />
      </Card>
      <Card id="body" title="Body">
        {body === null ? (
          <p class="muted">
            Not stored: the request had no body, or one that was larger than 4 KiB, not JSON, or not read
            before the error.
          </p>
        ) : (
          <pre>{indented(body)}</pre>
        )}
      </Card>
    </Frame>
  );
}

/** JSON with a line for each part; any other text as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
