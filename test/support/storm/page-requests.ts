import fc from 'fast-check';
import type { DashboardVisitor } from '../dashboard/dashboard-visitor.ts';
import { type SentField, sentForm } from '../dashboard/sent-form.ts';
import { groupBy } from '../group-by.ts';
import type { Operation } from '../http/openapi-document.ts';
import type { RegisteredRoute } from '../http/registered-routes.ts';
import { hostileJson, hostileText, hostileValue, mutilated } from './hostile-values.ts';
import type { StormRequest } from './storm-requests.ts';
import {
  bodyOf,
  type Content,
  contentType,
  headerText,
  mostly,
  requestsTo,
  type StormSources,
} from './storm-requests.ts';

/** A form as a page has it. */
export interface PageForm {
  /** The path that it is sent to. */
  action: string;
  fields: SentField[];
}

/** The forms of pages, as a visitor gets them. Pages that this visitor does not get have none. */
export async function readForms(visitor: DashboardVisitor, urls: readonly string[]): Promise<PageForm[]> {
  const forms: PageForm[] = [];
  for (const url of urls) {
    const { text } = await visitor.get(url);
    for (const form of text.split('<form').slice(1)) {
      const action = /^[^>]*\s(?:action|hx-post)="([^"]*)"/.exec(form)?.[1] ?? '';
      forms.push({ action, fields: sentForm(`<form${form}`, /\S/) });
    }
  }
  return forms;
}

export interface PageSources {
  storm: StormSources;
  forms: readonly PageForm[];
  /** A signed-in session and its CSRF token. */
  session: { cookie: string; csrfToken: string };
  /** Sessions with fewer rights. */
  otherCookies: readonly string[];
}

/** Requests to a page or to the route that a form is sent to: as a browser sends them, and such as none does. */
export function requestsToPage(route: RegisteredRoute, sources: PageSources): fc.Arbitrary<StormRequest> {
  const { storm, forms } = sources;
  const seen = groupBy(
    forms.flatMap(({ fields }) => fields),
    ([name]) => name,
  );
  const known = Object.fromEntries(
    [...seen].map(([name, fields]) => [
      name,
      mostly(fc.constantFrom(...fields.map(([, value]) => value)), hostileText, 3),
    ]),
  );
  const operation: Operation = {
    method: route.method,
    path: route.url.replace(/:(\w+)/g, '{$1}').replace('*', '{file}'),
    operation: { parameters: [...seen.keys()].map((name) => ({ in: 'query', name, schema: {} })) },
  };
  return requestsTo(
    operation,
    { ...storm, known: { ...known, ...storm.known } },
    { credentials: credentialsOf(sources), content: contentFor(route, sources) },
  );
}

function credentialsOf({ session, otherCookies }: PageSources): fc.Arbitrary<Record<string, string>> {
  const hostile = hostileText.map((text) => `refunds_session=${headerText(text)}`);
  const others = fc.oneof(fc.constantFrom('', ...otherCookies), hostile);
  return fc.record(
    {
      cookie: mostly(fc.constant(session.cookie), others, 6),
      'sec-fetch-site': mostly(fc.constant('same-origin'), fc.constantFrom('cross-site', 'none', ''), 20),
      origin: fc.constantFrom('null', 'http://other.example', '::', ''),
      'hx-request': fc.constantFrom('true', 'false'),
      'hx-current-url': hostileText.map(headerText),
    },
    { requiredKeys: ['cookie', 'sec-fetch-site'] },
  );
}

/** Form bodies for routes that take one. */
function contentFor(route: RegisteredRoute, sources: PageSources): fc.Arbitrary<Content> {
  const none: fc.Arbitrary<Content> = fc.constant({ headers: {}, body: null });
  const body = fc.oneof(
    { arbitrary: formFor(route, sources), weight: 9 },
    { arbitrary: mutilated(formFor(route, sources)), weight: 2 },
    { arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)), weight: 1 },
  );
  const form = body.map((bytes) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: bytes,
  }));
  const json = fc.record({
    headers: contentType,
    body: fc.oneof(
      bodyOf(hostileValue),
      hostileJson.map((text) => Buffer.from(text)),
    ),
  });
  const any = fc.oneof(
    { arbitrary: form, weight: 9 },
    { arbitrary: json, weight: 1 },
    { arbitrary: none, weight: 1 },
  );
  return route.method === 'GET' || route.method === 'HEAD' ? mostly(none, any, 10) : any;
}

/** A form that is sent to this route, or one of all fields, with some of them changed. */
function formFor(route: RegisteredRoute, { forms, session }: PageSources): fc.Arbitrary<Buffer<ArrayBuffer>> {
  const pattern = new RegExp(`^${route.url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
  const own = forms.filter(({ action }) => pattern.test(action)).map(({ fields }) => fields);
  const all = forms.flatMap(({ fields }) => fields);
  const field: fc.Arbitrary<SentField> = fc.tuple(
    mostly(fc.constantFrom('reason', ...all.map(([name]) => name)), hostileText, 6),
    mostly(fc.constantFrom('1', ...all.map(([, value]) => value)), hostileText, 3),
  );
  const change = fc.tuple(fc.nat(), fc.constantFrom('replace', 'remove', 'add'), field);
  return fc
    .record({
      whole: own.length === 0 ? fc.array(field, { maxLength: 12 }) : fc.constantFrom(...own),
      changes: fc.array(change, { maxLength: 3 }),
      csrfToken: mostly(fc.constant(session.csrfToken), hostileText, 12),
    })
    .map(({ whole, changes, csrfToken }) => {
      const fields = changes.reduce(changed, [...whole]);
      const body = new URLSearchParams([['_csrf', csrfToken], ...fields]);
      return Buffer.from(body.toString());
    });
}

/** Replaces the value of one field by another's, removes it, or adds another. */
function changed(
  fields: readonly SentField[],
  [position, damage, field]: [position: number, damage: string, field: SentField],
): SentField[] {
  if (damage === 'add' || fields.length === 0) return [...fields, field];
  const at = position % fields.length;
  const rest = fields.filter((_, index) => index !== at);
  return damage === 'remove' ? rest : [...rest, [fields[at]?.[0] ?? '', field[1]]];
}
