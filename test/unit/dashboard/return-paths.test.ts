import { expect, test } from 'vitest';
import { safeReturnPath, safeReturnPathOf } from '#api/dashboard/http/paths.ts';

test.each([
  '/dashboard/org_x/test/refunds?q=a+b',
  '/dashboard/you?a=~*:!%20%C3%A4&b=(1)',
  '/dashboard/you?required=yes',
  '/dashboard',
])('a sign-in returns to %s', (next) => {
  expect(safeReturnPath(next)).toBe(next);
});

test.each([
  'https://example.com',
  '//example.com',
  '/\\example.com',
  '/v1/refunds',
  '/dashboard//example.com',
  '/dashboard/..//example.com',
  '/dashboard/%2e%2e/v1/refunds',
  '/\t/example.com',
  '/dashboard/\\example.com',
  '/dashboard\r\nset-cookie: a=b',
  'javascript:alert(1)',
  '/dashboardless',
  '/dashboard/sign-in?next=/dashboard/sign-in',
])('a sign-in never leads to %j', (next) => {
  expect(safeReturnPath(next)).toBe('/dashboard');
});

test.each([
  ['https://refunds.example.com/dashboard/you?a=b#latest', '/dashboard/you?a=b'],
  ['nonsense', '/dashboard'],
  ['https://example.com//elsewhere.example.com/', '/dashboard'],
])('a part of the page %s returns to %s', (page, next) => {
  expect(safeReturnPathOf(page)).toBe(next);
});
