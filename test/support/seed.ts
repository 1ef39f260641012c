/** Of everything that tests choose at random. It is the same in each run, but for a release; `TEST_SEED=7` sets another. */
export const seed = Number(process.env.TEST_SEED);
