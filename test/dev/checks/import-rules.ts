import path from 'node:path';
import { processorKind, processorNames } from '#shared/processors/registry.ts';

/** Each file's imports: paths from the root of the project, and names of packages. */
export type Imports = ReadonlyMap<string, readonly string[]>;

interface ImportRule {
  /** The files that the rule is for. */
  from: RegExp;
  /** What they must not import. */
  to: RegExp;
  why: string;
}

/** A processor's SDK has the name of its adapter. */
function adapterRules(name: string): ImportRule[] {
  return [
    {
      from: new RegExp(`^(?!test/|shared/processors/${name}/)`),
      to: new RegExp(`^${name}(/|$)`),
      why: `only shared/processors/${name} talks to ${processorKind(name).displayName}`,
    },
    {
      from: new RegExp(`^(?!test/|shared/processors/(registry\\.ts$|${name}/))`),
      to: new RegExp(`^shared/processors/${name}/`),
      why: 'only the registry knows the adapters',
    },
  ];
}

const rules: readonly ImportRule[] = [
  { from: /^api\//, to: /^worker\//, why: 'api does not import worker' },
  { from: /^worker\//, to: /^api\//, why: 'worker does not import api' },
  { from: /^(shared|prisma)\//, to: /^(api|worker)\//, why: 'shared does not import a process' },
  { from: /^(api|worker|shared|prisma)\//, to: /^test\//, why: 'production code does not import tests' },
  ...processorNames.flatMap(adapterRules),
  {
    from: /^(?!test\/|shared\/platform\/queues\.ts$)/,
    to: /^bullmq(\/|$)/,
    why: 'only shared/platform/queues.ts knows BullMQ',
  },
  {
    from: /^(?!shared\/platform\/telemetry\/trace-export\.ts$)/,
    to: /^@opentelemetry\//,
    why: 'OpenTelemetry is loaded by shared/platform/telemetry/trace-export.ts alone, and only where an endpoint is set',
  },
  {
    from: /^(?!shared\/platform\/telemetry\/telemetry\.ts$)/,
    to: /^shared\/platform\/telemetry\/trace-export\.ts$/,
    why: 'OpenTelemetry is loaded by shared/platform/telemetry/trace-export.ts alone, and only where an endpoint is set',
  },
  {
    from: /^(?!test\/|shared\/platform\/|prisma\/|prisma\.config)/,
    to: /^(@prisma\/|prisma\/generated\/)/,
    why: 'types of rows come from shared/platform/database.ts',
  },
  {
    from: /^shared\//,
    to: /^shared\/dependencies\.ts$/,
    why: 'only a process needs all dependencies; name those that are needed here',
  },
  {
    from: /^shared\/platform\//,
    to: /^shared\/(?!platform\/)/,
    why: 'the platform imports nothing else of shared/',
  },
  {
    from: /^shared\/(money\/|refund-request\/reasons\.ts|platform\/(clock|environment)\.ts|refunds\/model\/(states|backoff)\.ts)/,
    to: /^(?!zod$|shared\/money\/|shared\/refunds\/model\/states\.ts)/,
    why: 'this file is a pure leaf',
  },
  { from: /^shared\/platform\/ids\.ts/, to: /^(?!typeid-js$)/, why: 'this file is a pure leaf' },
  {
    from: /^shared\/policies\/(evaluate|evaluate-refund|agent-limits|denials|balance|bounds|explain)\.ts/,
    to: /^(?!zod$|shared\/money\/|shared\/refund-request\/reasons\.ts|shared\/policies\/(agent-limits|balance|bounds|denials|evaluate|explain|policy)\.ts)/,
    why: 'policy evaluation is a pure leaf',
  },
  {
    from: /^shared\/client\//,
    to: /^(?!shared\/client\/|node:)/,
    why: 'the client imports nothing else of the service and no package',
  },
];

/** What is wrong with the imports of the project, a line each; none when all is well. */
export function importProblems(imports: Imports): string[] {
  const forbidden = [...imports].flatMap(([file, targets]) =>
    rules
      .filter(({ from }) => from.test(file))
      .flatMap(({ to, why }) =>
        targets.filter((target) => to.test(target)).map((target) => `${file} imports ${target}: ${why}`),
      ),
  );
  return [...new Set([...forbidden, ...cyclesOf(imports, path.dirname), ...cyclesOf(imports, subjectOf)])];
}

const writesWork =
  /\b((INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?refund_work\b|refundWork\s*\.\s*(create|update|upsert|delete))/i;

/** The files that write refund_work, a line each, except for the one module that does, its SQL functions and tests. */
export function workProblems(texts: ReadonlyMap<string, string>): string[] {
  const writers = [...texts].filter(([, text]) => writesWork.test(text)).map(([file]) => file);
  return writers
    .filter(
      (file) => !/^(test\/|prisma\/functions\/refunds\/|shared\/refunds\/changes\/work\.ts$)/.test(file),
    )
    .map(
      (file) => `${file} writes refund_work: only shared/refunds/changes/work.ts and its SQL functions do`,
    );
}

/** The subject of a file of shared/, with all of its folders; any other file is in its folder. */
function subjectOf(file: string): string {
  return /^shared\/[^/]+(?=\/)/.exec(file)?.[0] ?? path.dirname(file);
}

/** Places of production code that import each other, directly or through others. */
function cyclesOf(imports: Imports, placeOf: (file: string) => string): string[] {
  const edges = new Map<string, Edge>();
  for (const [file, targets] of imports) {
    if (file.startsWith('test/')) continue;
    for (const target of targets.filter((name) => imports.has(name))) {
      const [from, to] = [placeOf(file), placeOf(target)];
      if (from !== to) edges.set(`${from} ${to}`, { from, to, example: `${file} imports ${target}` });
    }
  }
  return [...edges.values()]
    .filter(({ from, to }) => reachableFrom(to, edges).has(from))
    .map(({ from, to, example }) => `${from} and ${to} import each other in a circle: ${example}`);
}

interface Edge {
  from: string;
  to: string;
  example: string;
}

function reachableFrom(start: string, edges: ReadonlyMap<string, Edge>): Set<string> {
  const reached = new Set([start]);
  // What is added while the loop runs is visited as well.
  for (const place of reached) {
    for (const { from, to } of edges.values()) if (from === place) reached.add(to);
  }
  return reached;
}
