/** How long the answer to an idempotent request is kept; its key stays bound to its refund for good. */
export const answerKeptMs = 30 * 24 * 60 * 60 * 1000;
