import { parseArgs } from 'node:util';
import { operationAt, type ServedDocument } from '../http/openapi-document.ts';
import { withValues } from './documented-values.ts';

/** Where a request of a page goes: to the service, as pages and `dev.json` name it. */
const service = /^(\$API|\$REFUND_API_URL|http:\/\/(localhost|127\.0\.0\.1):3000)(?=\/)/;

/** What every request may have. */
const commonHeaders = ['authorization', 'content-type', 'accept', 'refund-version'];

/** A request that a page makes with curl. */
export interface DocumentedRequest {
  /** As it stands on the page. */
  url: string;
  /** With its query; null for another server. */
  path: string | null;
  method: string;
  headers: Record<string, string>;
  /** Undefined for none, and for a file. */
  body: string | undefined;
}

/** @throws TypeError for an option that is not one of those that pages use. */
export function requestOf(args: readonly string[]): DocumentedRequest {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: curlOptions,
    allowPositionals: true,
  });
  const [url = '', ...others] = positionals;
  if (others.length > 0) throw new TypeError(`Two addresses: ${positionals.join(' ')}`);
  const data = [...(values.data ?? []), ...(values['data-urlencode'] ?? [])];
  const query = values.get && data.length > 0 ? `?${data.join('&')}` : '';
  const binary = values['data-binary'];
  const hasBody = !values.get && (data.length > 0 || binary !== undefined);
  const headers = (values.header ?? []).map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return {
    url,
    path: service.test(url) ? `${url.replace(service, '')}${query}` : null,
    method: values.request ?? (hasBody ? 'POST' : 'GET'),
    headers: Object.fromEntries(headers),
    body: hasBody && binary === undefined ? data.join('&') : undefined,
  };
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const texts = { ...text, multiple: true } as const;

/** Those that pages use. */
const curlOptions = {
  data: { ...texts, short: 'd' },
  'data-binary': text,
  'data-urlencode': texts,
  fail: { ...flag, short: 'f' },
  get: { ...flag, short: 'G' },
  head: { ...flag, short: 'I' },
  header: { ...texts, short: 'H' },
  include: { ...flag, short: 'i' },
  request: { ...text, short: 'X' },
  retry: text,
  'retry-all-errors': flag,
  'show-error': { ...flag, short: 'S' },
  silent: { ...flag, short: 's' },
  user: { ...text, short: 'u' },
} as const;

/** What the document does not declare of a request to the service; null for nothing. */
export function undeclaredIn(served: ServedDocument, request: DocumentedRequest): string | null {
  const { method, headers, body } = request;
  const [path = '', query = ''] = withValues(request.path ?? '').split('?');
  const operation = operationAt(served, { method, path })?.operation;
  if (operation === undefined) return 'no such operation';
  const declared = (place: string) =>
    ((operation.parameters ?? []) as { in: string; name: string }[])
      .filter((one) => one.in === place)
      .map(({ name }) => name.toLowerCase());
  const header = Object.keys(headers).find(
    (name) => ![...commonHeaders, ...declared('header')].includes(name),
  );
  if (header !== undefined) return `no header ${header}`;
  // `${AFTER:+&after=$AFTER}` is a parameter where the variable is set.
  const names = [...query.matchAll(/(?:^|&)(\w+)/g)].map(([, name = '']) => name.toLowerCase());
  const parameter = names.find((name) => !declared('query').includes(name));
  if (parameter !== undefined) return `no parameter ${parameter}`;
  if (body === undefined) return null;
  const { schema } = operation.requestBody?.content['application/json'] ?? {};
  if (schema === undefined) return 'no body';
  const read = served.schemaOf(schema).safeParse(JSON.parse(withValues(body)));
  return read.success ? null : read.error.message;
}
