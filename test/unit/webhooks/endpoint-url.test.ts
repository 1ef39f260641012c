import { describe, expect, test } from 'vitest';
import { checkEndpointUrl } from '#shared/webhooks/endpoint-url.ts';

const check = (url: string) => checkEndpointUrl(url, true);

describe('in production', () => {
  test.each([
    'https://example.com/webhooks',
    'HTTPS://example.com:8443/a?b=c&d=%20',
    'https://xn--mnchen-3ya.example/',
    'https://93.184.215.14/hooks',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
    'https://localhost.example.com/',
    'https://10.example.com/',
  ])('accepts %s', (url) => {
    expect(check(url)).toBeNull();
  });

  // Which addresses are private or reserved is in public-address.test.ts.
  const localHosts =
    'localhost LOCALHOST. api.localhost 127.0.0.1 127.1 127.0.0.1. 2130706433 0x7f000001 0177.0.0.1 0x7f.1 0 ' +
    '%31%32%37.0.0.1 10.0.0.1 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [0:0:0:0:0:ffff:0a00:0001]:8443';
  test.each(localHosts.split(' ').map((host) => `https://${host}/x`))('refuses the host of %s', (url) => {
    expect(check(url)).toBe('must not be a private, local or reserved address');
  });

  test.each(['http://example.com/', 'HTTP://93.184.215.14/'])('refuses %s without TLS', (url) => {
    expect(check(url)).toBe('must begin with https://');
  });
});

const incomplete = 'must be a complete URL, such as https://example.com/webhooks';
const badCharacters = 'must contain visible ASCII characters only, and no \\';

test.each([
  ['https://', incomplete],
  ['https://[::1', incomplete],
  ['https://a:99999/', incomplete],
  ['https://user@example.com/', 'must not contain a user name or password'],
  ['https://:secret@example.com/', 'must not contain a user name or password'],
  [' https://example.com/', badCharacters],
  ['https://exa\tmple.com/', badCharacters],
  ['https://example.com/\r\nHost: other', badCharacters],
  ['https:\\\\example.com', badCharacters],
  ['https://m\u00fcnchen.example/', badCharacters],
  ['https://127.0.0\u3002 1/', badCharacters],
  [`https://example.com/${'a'.repeat(2_029)}`, 'must have at most 2048 characters'],
])('refuses %j in every environment', (url, problem) => {
  expect(checkEndpointUrl(url, false)).toBe(problem);
  expect(checkEndpointUrl(url, true)).toBe(problem);
});

test.each([
  '',
  'example.com',
  '//example.com/',
  'https:example.com',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
])('says of %j how a URL must begin', (url) => {
  expect(checkEndpointUrl(url, false)).toBe('must begin with https:// or http://');
  expect(checkEndpointUrl(url, true)).toBe('must begin with https://');
});

test.each(['http://127.0.0.1:4000/hooks', 'http://localhost/', 'https://[::1]/', 'http://receiver/'])(
  'accepts %s outside of production',
  (url) => {
    expect(checkEndpointUrl(url, false)).toBeNull();
  },
);
