import type { z } from 'zod';
import { RefundClient } from '#shared/client/index.ts';
import { namedExamples } from './examples.ts';

const exampleClient = new RefundClient({ baseUrl: 'https://refunds.example.com', apiKey: 'svc_test_...' });

/** Samples of an operation in TypeScript, if the client has it. The reference makes those in other languages itself. */
export function typescriptSamples(path: string, operationId: string, body?: z.ZodType): object[] {
  const [resource, method] = clientMethod(path, operationId);
  const methods = exampleClient[resource as keyof RefundClient] as object | undefined;
  if (methods === undefined || !(method in methods)) return [];
  const source = [
    "import { RefundClient } from 'refund-service-client';",
    '',
    "const client = new RefundClient({ baseUrl: 'https://refunds.example.com', apiKey: 'svc_test_...' });",
    `const result = await client.${resource}.${method}(${argumentsOf(path, body).join(', ')});`,
  ].join('\n');
  return [{ lang: 'typescript', label: 'TypeScript', source }];
}

/** The method of the client: the last name in the path after the resource (`refunds.cancel`), else the operation's verb (`refunds.create`). */
function clientMethod(path: string, operationId: string): [resource: string, method: string] {
  const [, , resource = '', ...rest] = path.split('/');
  const named = rest.filter((part) => !part.startsWith(':')).at(-1);
  const verb = operationId.replace(/[A-Z].*/, '').replace('change', 'update');
  return [camelCase(resource), camelCase(named ?? verb)];
}

function argumentsOf(path: string, body?: z.ZodType): string[] {
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, name]) => `'<${name}>'`);
  const [example] = body === undefined ? [] : Object.values(namedExamples(body));
  return example === undefined ? ids : [...ids, JSON.stringify(example.value, null, 2)];
}

function camelCase(words: string): string {
  return words.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
