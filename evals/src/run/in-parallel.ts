/** Starts jobs in order, at most `limit` at the same time. @returns one promise per job */
export function inParallel<Result>(jobs: readonly (() => Promise<Result>)[], limit: number): Promise<Result>[] {
  const results = jobs.map(() => Promise.withResolvers<Result>());
  let next = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const index = next;
      next += 1;
      const job = jobs[index];
      if (job === undefined) return;
      await job().then(results[index]?.resolve, results[index]?.reject);
    }
  };
  for (let worker = 0; worker < limit; worker += 1) void work();
  return results.map(({ promise }) => promise);
}
