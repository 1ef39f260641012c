/** The list of queues with every control of theirs switched off; any other answer as it is. */
export function markReadOnly(answer: unknown): unknown {
  if (!isRecord(answer) || !Array.isArray(answer.queues)) return answer;
  const queues = answer.queues.map((queue: object) => ({
    ...queue,
    readOnlyMode: true,
    allowRetries: false,
    allowCompletedRetries: false,
  }));
  return { ...answer, queues };
}

/** An error of this service with its message where the pages of the board look for it; any other answer as it is. */
export function describeForUi(answer: unknown): unknown {
  if (!isRecord(answer) || !isRecord(answer.error) || !('code' in answer.error)) return answer;
  return { ...answer, message: answer.error.message };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
