import { readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  loadApiSettings,
  loadServiceSettings,
  loadSettings,
  settingNames,
} from '#shared/platform/config.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';

const databaseUrl = 'postgresql://someone:hidden-password@127.0.0.1:5432/refunds';
const encryptionKey = Buffer.alloc(32, 7).toString('base64');

describe('.env.example', () => {
  const example = readFileSync('.env.example', 'utf8');
  const values = parseEnv(example) as Record<string, string>;

  test('lists exactly the settings', () => {
    expect(Object.keys(values).sort()).toEqual([...settingNames].sort());
  });

  test('gives the default of every setting', () => {
    expect(loadSettings(values)).toEqual(loadSettings({}));
  });
});

describe('settings', () => {
  test('treat an empty value as missing, not as zero', () => {
    const empty = Object.fromEntries(settingNames.map((name) => [name, '']));
    expect(loadSettings(empty)).toEqual(loadSettings({}));
  });

  test('report every invalid setting in a line without its value', () => {
    const wrong = {
      PORT: '99999999',
      LOG_LEVEL: 'hidden-level',
      QUEUE_PREFIX: '{hidden}',
      ENCRYPTION_KEY: 'hidden-key',
    };
    const message = messageOf(() => loadSettings(wrong));
    expect(message.split('\n').map((line) => line.split(' ')[0])).toEqual([
      'PORT',
      'QUEUE_PREFIX',
      'ENCRYPTION_KEY',
      'LOG_LEVEL',
    ]);
    expect(message).not.toMatch(/hidden|99999999/);
  });

  test('require a lookback of an hour at least', () => {
    const overlapOf = (ms: number) => loadSettings({ RECONCILIATION_LOOKBACK_MS: `${ms}` });
    expect(overlapOf(3_600_000).RECONCILIATION_LOOKBACK_MS).toBe(3_600_000);
    for (const ms of [0, 3_599_999]) {
      expect(messageOf(() => overlapOf(ms))).toMatch(/^RECONCILIATION_LOOKBACK_MS must be at least 3600000 /);
    }
  });

  test('report both missing required settings at once', () => {
    expect(messageOf(() => loadServiceSettings({})).split('\n')).toEqual([
      expect.stringMatching(/^DATABASE_URL is required/),
      expect.stringMatching(/^ENCRYPTION_KEY is required/),
    ]);
  });
});

describe('a setting from a file', () => {
  const inFolder = useTemporaryFolder();

  function fileWith(content: string): string {
    const path = inFolder('secret');
    writeFileSync(path, content);
    return path;
  }

  test.each(settingNames.map((name) => [name]))('is read as if its content were the value of %s', (name) => {
    const file = fileWith('hidden-content\n');
    const outcomeOf = (env: NodeJS.ProcessEnv) => {
      try {
        return loadSettings(env);
      } catch (error) {
        return (error as ConfigError).message;
      }
    };
    const outcome = outcomeOf({ [`${name}_FILE`]: file });
    expect(outcome).toEqual(outcomeOf({ [name]: 'hidden-content' }));
    expect(outcome).not.toEqual(loadSettings({}));
  });

  test.each([
    [
      'beside the setting itself',
      'hidden',
      /^REDIS_URL_FILE is set as well as REDIS_URL: remove one of them$/,
    ],
    ['that does not exist', null, /^REDIS_URL_FILE cannot be read \(ENOENT\): /],
    ['that is empty', '\n', /^REDIS_URL_FILE is an empty file: /],
  ])('%s is refused, without a value in the error', (what, content, message) => {
    const REDIS_URL_FILE = content === null ? inFolder('missing') : fileWith(content);
    const beside = what.startsWith('beside') ? { REDIS_URL: 'redis://:hidden@redis' } : {};
    const refusal = messageOf(() => loadSettings({ REDIS_URL_FILE, ...beside }));
    expect(refusal).toMatch(message);
    expect(refusal).not.toContain('hidden');
  });
});

test.each(['db:5432/refunds', 'mysql://u:hidden@db/refunds', 'postgresql://u:hid#den@db/refunds'])(
  'a database is refused whose address cannot be used: %s',
  (DATABASE_URL) => {
    const refusal = messageOf(() => loadSettings({ DATABASE_URL }));
    expect(refusal).toMatch(/^DATABASE_URL must be the address of a PostgreSQL database/);
    expect(refusal).not.toContain('hid');
  },
);

test.each([undefined, 'redis://a,redis://b'])(
  'sentinels need the name of one master, not %s',
  (REDIS_URL) => {
    const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
    const given = {
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEY,
      REDIS_SENTINELS: 'redis://s:26379',
      REDIS_URL,
    };
    expect(messageOf(() => loadServiceSettings(given))).toMatch(/^REDIS_SENTINELS needs REDIS_URL/);
  },
);

test('a statement may not take longer than leases allow, in production', () => {
  const given = {
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: encryptionKey,
    DATABASE_STATEMENT_TIMEOUT_MS: '10001',
  };
  const refusal = messageOf(() => loadServiceSettings({ ...given, NODE_ENV: 'production' }));
  expect(refusal).toMatch(/^DATABASE_STATEMENT_TIMEOUT_MS must be at most 10000: /);
  expect(loadServiceSettings(given).DATABASE_STATEMENT_TIMEOUT_MS).toBe(10_001);
});

describe('HTTPS_PROXY, HTTP_PROXY and NO_PROXY', () => {
  const { HTTPS_PROXY: _, HTTP_PROXY: __, NO_PROXY: ___, ...others } = loadSettings({});

  test('are read in either case, lower case first', () => {
    const [proxy, other] = ['http://user:p%40ss@proxy.example:3128', 'https://other.example'];
    expect(loadSettings({ HTTPS_PROXY: proxy, http_proxy: other, no_proxy: 'localhost' })).toEqual({
      ...{ HTTPS_PROXY: proxy, HTTP_PROXY: other, NO_PROXY: 'localhost' },
      ...others,
    });
    expect(loadSettings({ HTTPS_PROXY: other, https_proxy: proxy }).HTTPS_PROXY).toBe(proxy);
    expect(loadSettings({ HTTPS_PROXY: other, https_proxy: '' }).HTTPS_PROXY).toBe(other);
  });

  test.each([
    ['proxy.example:3128', /^https?_proxy must be the address of a proxy, such as http:.+:3128$/i],
    ['hidden', /^https?_proxy must be the address of a proxy, such as http:.+:3128$/i],
    ['socks5://hidden.example:1080', /^https?_proxy must be the address of a proxy, such as http:.+:3128$/i],
    ['http://user:hidden%@proxy.example', /^https?_proxy must have a % .+ written as %25$/i],
  ])('may not be %s', (value, message) => {
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']) {
      const refusal = messageOf(() => loadSettings({ [name]: value }));
      expect(refusal).toMatch(message);
      expect(refusal).not.toMatch(/hidden/);
    }
  });
});

describe('TRUSTED_PROXIES', () => {
  const valid = { DATABASE_URL: databaseUrl, ENCRYPTION_KEY: encryptionKey };
  const proxiesOf = (value: string) =>
    loadApiSettings({ ...valid, NODE_ENV: 'production', TRUSTED_PROXIES: value }).TRUSTED_PROXIES;

  test('is required of the API in production, and of nothing else', () => {
    const refusal = messageOf(() => loadApiSettings({ ...valid, NODE_ENV: 'production' }));
    expect(refusal).toMatch(/^TRUSTED_PROXIES is required: .+, or none$/);
    expect(loadApiSettings(valid).TRUSTED_PROXIES).toBeNull();
    expect(loadServiceSettings({ ...valid, NODE_ENV: 'production' }).TRUSTED_PROXIES).toBeNull();
  });

  test.each([
    ['none', []],
    ['10.0.0.1', ['10.0.0.1']],
    ['loopback, 10.0.0.0/8,fd00::/8', ['loopback', '10.0.0.0/8', 'fd00::/8']],
  ])('may be %s', (value, proxies) => {
    expect(proxiesOf(value)).toEqual(proxies);
  });

  test.each(['nginx', 'none, 10.0.0.1', '10.0.0.300', '10.0.0.0/40', '10.0.0.1,', 'true'])(
    'may not be %s',
    (value) => {
      expect(messageOf(() => proxiesOf(value))).toMatch(/^TRUSTED_PROXIES must be none, or addresses, .+$/);
    },
  );
});

function messageOf(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('The settings were accepted.');
}
