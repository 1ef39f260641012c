import { describe, expect, test } from 'vitest';
import { checkOutgoingUrl, isPublicAddress } from '#shared/platform/outgoing/outgoing-url.ts';
import { privateHosts } from '../../support/http/private-hosts.ts';

const check = (url: string) => checkOutgoingUrl(url, true);

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

  test.each([...privateHosts, '[::1]:8443'].map((host) => `https://${host}/x`))(
    'refuses the host of %s',
    (url) => {
      expect(check(url)).toBe('must not be a private, local or reserved address');
    },
  );

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
  expect(checkOutgoingUrl(url, false)).toBe(problem);
  expect(checkOutgoingUrl(url, true)).toBe(problem);
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
  expect(checkOutgoingUrl(url, false)).toBe('must begin with https:// or http://');
  expect(checkOutgoingUrl(url, true)).toBe('must begin with https://');
});

test.each(['http://127.0.0.1:4000/hooks', 'http://localhost/', 'https://[::1]/', 'http://receiver/'])(
  'accepts %s outside of production',
  (url) => {
    expect(checkOutgoingUrl(url, false)).toBeNull();
  },
);

describe('isPublicAddress', () => {
  const refused = {
    loopback: '127.0.0.1 127.255.255.254 0.0.0.0 0.1.2.3 ::1 :: 0:0:0:0:0:0:0:1',
    'IPv4 mapped into IPv6, and compatible':
      '::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::127.0.0.1 ::808:808',
    'IPv4 translated (NAT64), 6to4, Teredo':
      '64:ff9b::808:808 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1::1 2001::1',
    private: '10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 fc00::1 fd00:ec2::254',
    'link-local': '169.254.169.254 fe80::1 fe80::1%eth0 fec0::1',
    'of a cloud platform': '168.63.129.16 ::ffff:168.63.129.16 100.100.100.200 192.0.0.192',
    documentation: '192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1',
    'benchmarking, reserved and multicast':
      '198.18.0.1 192.0.0.1 192.88.99.1 240.0.0.1 255.255.255.255 224.0.0.1 ff02::1 100::1 4000::1 5f00::1',
    'no addresses': 'localhost example.com 8.8.8.8.8 ::ffff:8.8.8.8. [::1]',
  };

  test.each(Object.entries(refused))('takes none for public of the kind: %s', (_kind, addresses) => {
    for (const address of ['', ...addresses.split(' ')])
      expect(isPublicAddress(address), address).toBe(false);
  });

  test.each(['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450::1'])(
    'accepts %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  test('decides on a mapped address by the address that is mapped', () => {
    expect(isPublicAddress('::ffff:8.8.8.8')).toBe(true);
  });
});
