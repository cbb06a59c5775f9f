/** The number of ways to choose `k` of `n`. */
function choose(n: number, k: number): number {
  if (k > n) return 0;
  let result = 1;
  for (let index = 1; index <= k; index += 1) result = (result * (n - k + index)) / index;
  return result;
}

/**
 * The probability that `k` independent trials of a task all succeed, estimated without bias from `trials` of which `passed` have
 * succeeded: C(passed, k) / C(trials, k), as τ-bench defines it. Undefined if there are fewer trials than `k`.
 */
export function passHatK(trials: number, passed: number, k: number): number | undefined {
  return trials < k ? undefined : choose(passed, k) / choose(trials, k);
}
