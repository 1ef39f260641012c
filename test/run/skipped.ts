/** @throws Error in CI, which accepts no skipped tests. */
export function reportSkipped(reason: string, what: string, advice: string): void {
  if (process.env.CI === 'true') throw new Error(`${what} would be skipped, because ${reason}. ${advice}`);
  console.warn(`\n*** SKIPPED: ${what}, because ${reason}.`);
  console.warn(`*** ${advice}\n`);
}
