import { describe, expect, test } from 'vitest';
import { proxyFor } from '#shared/platform/outgoing/proxy.ts';

const settings = {
  HTTPS_PROXY: 'http://secure.example:3128',
  HTTP_PROXY: 'https://plain.example',
  NO_PROXY: '',
};
const proxyOf = (url: string, changes: Partial<typeof settings> = {}) =>
  proxyFor(new URL(url), { ...settings, ...changes })?.href ?? null;

test('the scheme of the address decides which proxy is used', () => {
  expect(proxyOf('https://api.example')).toBe('http://secure.example:3128/');
  expect(proxyOf('http://api.example')).toBe('https://plain.example/');
  expect(proxyFor(new URL('https://api.example'), { ...settings, HTTPS_PROXY: null })).toBeNull();
  expect(proxyFor(new URL('http://api.example'), { ...settings, HTTP_PROXY: null })).toBeNull();
});

describe('NO_PROXY', () => {
  test.each([
    ['*', 'https://api.example.com'],
    ['api.example.com', 'https://api.example.com'],
    ['API.Example.com', 'https://api.example.com./'],
    ['a.example, api.example.com', 'https://api.example.com'],
    ['a.example api.example.com', 'https://api.example.com'],
    ['.example.com', 'https://api.example.com'],
    ['*.example.com', 'https://a.b.example.com'],
    ['api.example.com:443', 'https://api.example.com'],
    ['.example.com:8080', 'http://api.example.com:8080'],
    ['localhost', 'http://localhost:4318'],
    ['127.0.0.1', 'http://127.0.0.1:3000'],
    ['::1', 'http://[::1]:3000'],
    ['[::1]', 'http://[::1]:3000'],
    ['[::1]:3000', 'http://[::1]:3000'],
  ])('with %s excepts %s', (NO_PROXY, url) => {
    expect(proxyOf(url, { NO_PROXY })).toBeNull();
  });

  test.each([
    ['', 'https://api.example.com'],
    [' , ', 'https://api.example.com'],
    ['example.com', 'https://api.example.com'],
    ['.example.com', 'https://example.com'],
    ['.example.com', 'https://badexample.com'],
    ['*example.com', 'https://api.example.com'],
    ['api.example.com:80', 'https://api.example.com'],
    ['api.example.com:8443', 'https://api.example.com'],
    ['localhost', 'http://127.0.0.1'],
    ['::1', 'http://[::2]'],
    ['127.0.0.0/8', 'http://127.0.0.1'],
  ])('with %s does not except %s', (NO_PROXY, url) => {
    expect(proxyOf(url, { NO_PROXY })).not.toBeNull();
  });
});
