/** Ways to write hosts that are not public, in visible ASCII characters. The test of `isPublicAddress` has every kind of address. */
export const privateHosts: readonly string[] = [
  ...['localhost', 'localhost.', 'LOCALHOST', 'LOCALHOST.', 'api.localhost'],
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '0',
    '2130706433',
    '0177.0.0.1',
    '017700000001',
    '0x7f000001',
    '0x7f.1',
  ],
  ...['%31%32%37.0.0.1', '10.0.0.1', '10.1', '0xa9fea9fe', '169.254.169.254'],
  ...[
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[0:0:0:0:0:ffff:0a00:0001]',
  ],
  ...['[64:ff9b::127.0.0.1]', '[fd00::1]'],
];
