/** A comparison function that counts its calls. */
export interface CountingCompare {
  compare(left: string, right: string): number;
  /** Runs the operations. @returns the largest number of comparisons that one operation needed */
  mostComparisons(operations: readonly (() => void)[]): number;
}

export function createCountingCompare(): CountingCompare {
  let comparisons = 0;
  return {
    compare(left, right) {
      comparisons += 1;
      return left < right ? -1 : Number(left > right);
    },
    mostComparisons: (operations) =>
      operations.reduce((most, operation) => {
        comparisons = 0;
        operation();
        return Math.max(most, comparisons);
      }, 0),
  };
}
