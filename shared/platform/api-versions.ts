/** The versions of the API, oldest first: the day of the first change that a client of the version before would notice. */
export const apiVersions = ['2026-11-24'] as const;

/** What a new API key gets. */
export const newestApiVersion: string = apiVersions[apiVersions.length - 1] ?? '';
