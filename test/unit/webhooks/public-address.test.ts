import { describe, expect, test } from 'vitest';
import { isPublicAddress } from '#shared/webhooks/public-address.ts';

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

  test.each(Object.entries(refused))('refuses %s', (_kind, addresses) => {
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
