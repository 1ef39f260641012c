/** The parts of an OpenAPI document that are worked on here. */
export interface OpenApiDocument {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, unknown>; headers?: Record<string, Header> };
}

interface Operation {
  parameters?: { name: string; in: string }[];
  responses?: Record<string, { headers?: Record<string, { $ref: string }> }>;
}

interface Header {
  description: string;
  schema: { type: string };
  example: string | number;
}

const headers: Record<string, Header> = {
  'X-Request-Id': {
    description: 'Names this request, here and in the log of the service.',
    schema: { type: 'string' },
    example: 'req_01kahw3v6me8fbw6r5k2jdz7qs',
  },
  'Idempotent-Replayed': {
    description:
      '`true` when this answer repeats the one of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string' },
    example: 'true',
  },
  'Preference-Applied': {
    description: 'The preference of the Prefer header that was honoured (RFC 7240).',
    schema: { type: 'string' },
    example: 'wait=10',
  },
  'Retry-After': {
    description: 'Seconds to wait before the request is repeated.',
    schema: { type: 'integer' },
    example: 1,
  },
  'WWW-Authenticate': {
    description: 'The scheme to authenticate with.',
    schema: { type: 'string' },
    example: 'Bearer',
  },
};

/** Completes what the generator leaves open; it changes the document that it is given. */
export function finishDocument(document: OpenApiDocument): OpenApiDocument {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path));
  for (const operation of operations) nameHeaders(operation);
  document.components = { ...document.components, headers };
  dropUnusedSchemas(document);
  return renameInputs(document);
}

function nameHeaders({ parameters = [], responses = {} }: Operation): void {
  for (const parameter of parameters) {
    if (parameter.in === 'header') {
      parameter.name = parameter.name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
    }
  }
  const takes = (name: string) => parameters.some((parameter) => parameter.name === name);
  for (const [status, response] of Object.entries(responses)) {
    const names = headersOf(status, takes('Idempotency-Key'), takes('Prefer'));
    response.headers = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    );
  }
}

/** Of the refusals those that a key is bound to, and the one that says a request with it is still running. */
function headersOf(status: string, idempotent: boolean, waits: boolean): string[] {
  const names = ['X-Request-Id'];
  if (idempotent && ['200', '403', '404', '409', '502'].includes(status)) names.push('Idempotent-Replayed');
  if (waits && status === '200') names.push('Preference-Applied');
  if (status === '401') names.push('WWW-Authenticate');
  if (status === '429' || status === '503' || (idempotent && status === '409')) names.push('Retry-After');
  return names;
}

/** The generator writes every named schema once for input and once for output. */
function dropUnusedSchemas(document: OpenApiDocument): void {
  const schemas = document.components?.schemas ?? {};
  for (let removed = true; removed; ) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    for (const name of unused) delete schemas[name];
    removed = unused.length > 0;
  }
}

/** It also calls the former `<Name>Input`, even where there is no other. */
function renameInputs(document: OpenApiDocument): OpenApiDocument {
  const names = Object.keys(document.components?.schemas ?? {});
  let text = JSON.stringify(document);
  for (const name of names) {
    const short = name.replace(/Input$/, '');
    if (short === name || names.includes(short)) continue;
    text = text
      .replaceAll(`"#/components/schemas/${name}"`, `"#/components/schemas/${short}"`)
      .replace(`"${name}":{`, `"${short}":{`);
  }
  return JSON.parse(text);
}
