import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { displayNameOf, processorKind, processorNames } from '#shared/processors/registry.ts';
import { findByText, type Hit, longestSearch } from '#shared/refunds/queries/find-by-text.ts';
import { StatusBadge } from '../components/badge.tsx';
import { Link } from '../components/button.tsx';
import { Moment } from '../components/values.tsx';
import { contextOf, useMember } from '../http/access.ts';
import { entered } from '../http/forms.ts';
import { leadTo, page } from '../http/page.ts';
import { isForPart, useRequest } from '../http/render.ts';
import { Frame } from '../layout/frame.tsx';
import { SearchForm } from '../layout/search-dialog.tsx';
import { inMoney } from '../words/numbers.ts';
import { metadataText, namedColumns } from './refunds/metadata-columns.tsx';

const hitsShown = { inDialog: 8, onPage: 50 };

/** `/search?q=`: what a text leads to, as a part for the dialog of every page, and as a page. One refund alone is opened. */
export function searchPage(scope: Api, { db }: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { owner, query } = contextOf(request);
    const isPart = isForPart(request);
    const text = entered(query, 'q').trim().slice(0, longestSearch);
    const hits = await findByText(db, owner, text, isPart ? hitsShown.inDialog : hitsShown.onPage);
    const [hit, ...others] = hits;
    if (!isPart && hit !== undefined && others.length === 0) return leadTo(`/refunds/${hit.refund.id}`);
    return { text, hits };
  };
  page(scope, '/search', 'viewer', read, Search);
}

interface SearchProps {
  text: string;
  hits: readonly Hit[];
}

function Search({ text, hits }: SearchProps) {
  const part = <Hits text={text} hits={hits} />;
  if (isForPart(useRequest())) return part;
  return (
    <Frame title="Search" section="refunds">
      <div class="card search-page">
        <SearchForm id="q" text={text} />
        <div class="hits">{part}</div>
      </div>
    </Frame>
  );
}

function Hits({ text, hits }: SearchProps) {
  const { environment, organization } = useMember();
  if (text === '') return null;
  if (hits.length === 0) {
    return (
      <p class="muted">
        No {environment} refund matches “{text}”. Try an order number or a word of it, a customer, the
        beginning of an ID, or an amount.{' '}
        {isPaymentId(text) ? (
          <Link to={`/payments/${encodeURIComponent(text)}`}>Look it up as a payment</Link>
        ) : null}
      </p>
    );
  }
  return (
    <ul aria-label={`${hits.length} refunds`}>
      {hits.map(({ refund, as }) => (
        <li key={refund.id}>
          <Link to={`/refunds/${refund.id}`}>
            <span class="row">
              <strong>{inMoney(refund.amount, refund.currency)}</strong>{' '}
              <StatusBadge status={refund.status} />
            </span>
            <span class="small muted">
              <Moment at={refund.createdAt} />
            </span>
            <span class="small muted hit-reason">
              {wordsOf({ refund, as }, text, organization.refundColumns)}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** True for a text that may be the id of a payment without a refund. */
function isPaymentId(text: string): boolean {
  return processorNames.some((name) => processorKind(name).couldBe(text));
}

/** What matched, and the metadata that the organization shows in lists. */
function wordsOf({ refund, as }: Hit, text: string, columns: readonly string[]): string {
  const shown = namedColumns(columns).flatMap(({ title, keys }) => {
    const value = metadataText(refund.metadata, keys);
    return value === null ? [] : `${title}: ${value}`;
  });
  return [...new Set([reasonOf(refund, as, text), ...shown])].join(' · ');
}

/** What matched: "order_id: SO-1042", an id. */
function reasonOf(refund: Hit['refund'], as: Hit['as'], text: string): string {
  const { id, transactionId, externalRefundId, metadata, processor } = refund;
  const has = (value: string) => value.toUpperCase().includes(text.toUpperCase());
  const pairs = Object.entries((metadata ?? {}) as Record<string, unknown>);
  const found = pairs.find(([, value]) => has(String(value)));
  switch (as) {
    case 'metadata':
    case 'part':
      return found === undefined ? `Payment ${transactionId}` : `${found[0]}: ${found[1]}`;
    case 'processor refund':
      return `${externalRefundId} at ${displayNameOf(processor)}`;
    case 'payment':
    case 'amount':
      return `Payment ${transactionId}`;
    case 'refund':
      return id;
  }
}
