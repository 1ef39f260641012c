/** What the addresses of all pages begin with; the session's cookie goes nowhere else. */
export const dashboardPath = '/dashboard';

/** Where the queue board is. */
export const queueBoardPath = `${dashboardPath}/queues`;
