import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Invalid configuration. `message` has one line per problem and no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const day = 24 * 60 * 60 * 1000;
const milliseconds = (fallback: number) => z.coerce.number().int().min(0).default(fallback);
const count = (fallback: number) => z.coerce.number().int().min(1).default(fallback);
const optional = z
  .string()
  .optional()
  .transform((value) => value ?? null);

const hour = 60 * 60 * 1000;
const lookbackMs = z.coerce
  .number()
  .int()
  .min(hour, {
    error: `must be at least ${hour} (an hour), because comparisons have to overlap: clocks differ, and refunds change later`,
  })
  .default(30 * day);

const encryptionKey = z.string().refine((value) => Buffer.from(value, 'base64').length === 32, {
  error: 'must be 32 random bytes in base64: openssl rand -base64 32',
});

const proxyAddress = z.union([
  z.enum(['loopback', 'linklocal', 'uniquelocal']),
  z.ipv4(),
  z.ipv6(),
  z.cidrv4(),
  z.cidrv6(),
]);

/** Null when it is not chosen, empty for `none`. */
const trustedProxies = z
  .string()
  .transform((list) => (list.trim() === 'none' ? [] : list.split(',').map((address) => address.trim())))
  .refine((list) => list.every((address) => proxyAddress.safeParse(address).success), {
    error: 'must be none, or addresses, ranges, loopback, linklocal or uniquelocal, separated by commas',
  })
  .nullable()
  .default(null);

const address = (protocol: RegExp, what: string) =>
  z.url({ protocol, error: `must be the address of ${what}` });

const databaseAddress = address(
  /^postgres(ql)?$/,
  'a PostgreSQL database, such as postgresql://<user>:<password>@host:5432/refunds, with special characters percent-encoded',
)
  .nullable()
  .default(null);

const collector = address(/^https?$/, 'a collector, such as http://otel-collector:4318')
  .nullable()
  .default(null);

const publicUrl = address(
  /^https?$/,
  'the service for people, such as https://refunds.example.com',
).transform((url) => url.replace(/\/+$/, ''));

const outgoingProxy = address(/^https?$/, 'a proxy, such as http://proxy.example.com:3128')
  .pipe(
    z.string().refine(hasReadableUserInfo, {
      error: 'must have a % in its user name or password written as %25',
    }),
  )
  .nullable()
  .default(null);

function hasReadableUserInfo(url: string): boolean {
  const { username, password } = new URL(url);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** Below the margins of leases: a worker that waits for a statement must not store what another one has taken over. */
const longestStatementMs = 10_000;

/** Every setting with its default; `.env.example` explains each of them. */
const settingsSchema = z.object({
  NODE_ENV: z.string().default('development'),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65535).default(3000),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: z.coerce.number().int().min(0).max(65535).optional(),
  TRUSTED_PROXIES: trustedProxies,
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: databaseAddress,
  DATABASE_OWNER_URL: databaseAddress,
  DATABASE_POOL_SIZE: count(10),
  DATABASE_CONNECT_TIMEOUT_MS: count(3_000),
  DATABASE_STATEMENT_TIMEOUT_MS: count(9_000),
  DATABASE_PREPARED_STATEMENTS: z.stringbool().default(true),
  DASHBOARD_POOL_SIZE: count(4),
  REDIS_URL: optional,
  REDIS_SENTINELS: optional,
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/)
    .default('refunds'),
  ENCRYPTION_KEY: optional.pipe(encryptionKey.nullable()),
  ENCRYPTION_PREVIOUS_KEYS: z
    .string()
    .default('')
    .transform((list) => list.split(',').filter((key) => key !== ''))
    .pipe(z.array(encryptionKey)),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  HTTPS_PROXY: outgoingProxy,
  HTTP_PROXY: outgoingProxy,
  NO_PROXY: z.string().default(''),
  OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  MAX_REQUESTS_IN_PROGRESS: count(400),
  MAX_REQUESTS_WAITING: count(2_000),
  MAX_WEBHOOKS_IN_PROGRESS: count(800),
  MAX_PAGES_IN_PROGRESS: count(200),
  MAX_EVENT_LOOP_DELAY_MS: milliseconds(1_000),
  RATE_LIMIT_PER_SECOND: z.coerce.number().int().min(0).default(100),
  ORGANIZATION_RATE_LIMIT_PER_SECOND: z.coerce.number().int().min(0).default(500),
  FAILED_KEYS_PER_MINUTE: z.coerce.number().int().min(0).default(60),
  DASHBOARD_SETS_ADDRESSES: z.stringbool().default(false),
  CREATE_WAIT_MS: milliseconds(3_000),
  CANCEL_WAIT_MS: milliseconds(10_000),
  MAX_WAIT_MS: milliseconds(30_000),
  TRANSACTION_READ_TIMEOUT_MS: count(2_000),
  TRANSACTION_FRESH_MS: milliseconds(15 * 60 * 1000),
  WORKER_CONCURRENCY: count(50),
  PROCESSOR_ACCOUNT_CONCURRENCY: count(40),
  PROCESSOR_ACCOUNT_CALLS_PER_SECOND: z.coerce.number().int().min(0).default(20),
  RESTORED: z.stringbool().default(false),
  PROCESSOR_TIMEOUT_MS: count(20_000),
  LOOKUP_SETTLE_DELAY_MS: z.coerce.number().int().min(0).optional(),
  SWEEP_INTERVAL_MS: count(1_000),
  LIVENESS_PATH: optional,
  RETRY_BASE_MS: count(1_000),
  RETRY_CAP_MS: count(15 * 60 * 1000),
  MISCONFIGURED_RETRY_MS: count(5 * 60 * 1000),
  SETTLEMENT_BASE_MS: count(1_000),
  SETTLEMENT_CAP_MS: count(60 * 60 * 1000),
  RETRY_DEADLINE_MS: milliseconds(3 * day),
  FLAG_UNKNOWN_AFTER_MS: milliseconds(day),
  RECONCILIATION_INTERVAL_MS: milliseconds(day),
  RECONCILIATION_LOOKBACK_MS: lookbackMs,
  WEBHOOK_RETENTION_DAYS: count(30),
  PUBLIC_URL: publicUrl.nullable().default(null),
  SMTP_URL: address(/^smtps?$/, 'a mail server, such as smtp://mail.example.com:587')
    .nullable()
    .default(null),
  MAIL_FROM: optional,
  SHUTDOWN_TIMEOUT_MS: count(25_000),
});

export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

export type Settings = z.infer<typeof settingsSchema>;

/** Settings that only some processes require. */
type RequiredSetting = keyof typeof required;

/** The settings of a process that uses the database and reads processor credentials: API, worker and administration. */
export type ServiceSettings = Settings & Record<RequiredSetting, string>;

/**
 * Reads the settings; none is required. For the development commands, which supply what is missing.
 * @throws ConfigError naming every invalid setting.
 */
export function loadSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  return read(settingsSchema, env);
}

function read<Schema extends z.ZodObject>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  // An empty value, as in env files and compose files, counts as missing, not as zero.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']) {
    // Other programs read these in lower case, too, which comes first there.
    const value = given[name.toLowerCase()] ?? given[name];
    if (value !== undefined) given[name] = value;
  }
  const parsed = schema.safeParse({ ...given, ...readFiles(Object.keys(schema.shape), given) });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(
    (issue) => `${issue.path[0]?.toString() ?? 'environment'} ${issue.message}`,
  );
  throw new ConfigError(lines.join('\n'));
}

/**
 * Reads the settings that are in files: `NAME_FILE` is the path of a file with the value of `NAME`, as secrets are mounted.
 * @throws ConfigError naming every variable whose file cannot be used, or that is set beside its setting.
 */
function readFiles(names: readonly string[], given: NodeJS.ProcessEnv): Record<string, string> {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  for (const name of names) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    try {
      if (given[name] !== undefined) throw new ConfigError(`is set as well as ${name}: remove one of them`);
      values[name] = readValue(path);
    } catch (error) {
      problems.push(`${name}_FILE ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return values;
}

/** The content of a file without the line break at its end. An empty one is an error, because it was meant to be a secret. */
function readValue(path: string): string {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(
      `cannot be read (${(error as NodeJS.ErrnoException).code}): check its path and rights`,
    );
  }
  const value = content.trimEnd();
  if (value === '') throw new ConfigError('is an empty file: write the value into it');
  return value;
}

/** @throws ConfigError with one line for each of these settings that is missing. */
function requireAll<Name extends RequiredSetting>(
  settings: Settings,
  names: readonly Name[],
): Settings & Record<Name, string> {
  const missing = names.filter((name) => settings[name] === null);
  if (missing.length === 0) return settings as Settings & Record<Name, string>;
  throw new ConfigError(missing.map((name) => `${name} is required: ${required[name]}`).join('\n'));
}

const required = {
  // The angle brackets keep the example from being redacted as a password.
  DATABASE_URL: 'the PostgreSQL database, such as postgresql://<user>:<password>@host:5432/refunds',
  ENCRYPTION_KEY:
    '32 random bytes in base64 that encrypt processor credentials and webhook secrets (openssl rand -base64 32)',
};

/**
 * Reads the settings of a process that only uses the database, such as the migration.
 * @throws ConfigError when DATABASE_URL is missing or a setting is invalid.
 */
export function loadDatabaseSettings(env: NodeJS.ProcessEnv = process.env) {
  return requireAll(loadSettings(env), ['DATABASE_URL']);
}

/**
 * Reads the settings of the API, the worker and the administration.
 * @throws ConfigError with one line for each of DATABASE_URL and ENCRYPTION_KEY that is missing, and when SMTP_URL or
 *   REDIS_SENTINELS misses what belongs to it.
 */
export function loadServiceSettings(env: NodeJS.ProcessEnv = process.env): ServiceSettings {
  const settings = loadSettings(env);
  if (settings.NODE_ENV === 'production' && settings.LOOKUP_SETTLE_DELAY_MS !== undefined) {
    throw new ConfigError(
      'LOOKUP_SETTLE_DELAY_MS is for tests: in production it could cause double refunds. Remove it.',
    );
  }
  if (settings.NODE_ENV === 'production' && settings.DATABASE_STATEMENT_TIMEOUT_MS > longestStatementMs) {
    throw new ConfigError(
      `DATABASE_STATEMENT_TIMEOUT_MS must be at most ${longestStatementMs}: leases of workers are longer than a statement may take`,
    );
  }
  if (
    settings.REDIS_SENTINELS !== null &&
    (settings.REDIS_URL === null || settings.REDIS_URL.includes(','))
  ) {
    throw new ConfigError(
      'REDIS_SENTINELS needs REDIS_URL with one address, whose host is the name of the master, such as redis://mymaster',
    );
  }
  if (settings.SMTP_URL !== null && (settings.MAIL_FROM === null || settings.PUBLIC_URL === null)) {
    throw new ConfigError(
      'SMTP_URL needs MAIL_FROM, the address that mail comes from, and PUBLIC_URL, the address of the service in links',
    );
  }
  return requireAll(settings, ['DATABASE_URL', 'ENCRYPTION_KEY']);
}

/**
 * Reads the settings of the API.
 * @throws ConfigError as `loadServiceSettings` does, and in production when TRUSTED_PROXIES is missing.
 */
export function loadApiSettings(env: NodeJS.ProcessEnv = process.env): ServiceSettings {
  const settings = loadServiceSettings(env);
  if (settings.NODE_ENV === 'production' && settings.TRUSTED_PROXIES === null) {
    throw new ConfigError(
      'TRUSTED_PROXIES is required: the addresses of the proxies in front of the API, separated by commas, or none',
    );
  }
  return settings;
}

const agentSettingsSchema = z.object({
  REFUND_API_URL: address(/^https?$/, 'the API, such as https://refunds.example.com'),
  REFUND_API_KEY: z.string({ error: 'must be an API key, svc_test_... or svc_live_...' }),
});

/** The settings of the program that serves the tools for agents on stdio. It runs on the agent's machine, without a database. */
export type AgentSettings = z.infer<typeof agentSettingsSchema>;

/** @throws ConfigError with one line for each that is missing or invalid. */
export function loadAgentSettings(env: NodeJS.ProcessEnv = process.env): AgentSettings {
  return read(agentSettingsSchema, env);
}
