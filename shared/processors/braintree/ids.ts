/** Sales and credits have ids of one shape; the SDK puts nothing else into a path either. */
export function isTransactionId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id);
}
