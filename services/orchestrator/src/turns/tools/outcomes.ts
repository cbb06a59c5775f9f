import type { Commit, ToolOutcome } from './platform-tool.js';

export const succeeded = (text: string): ToolOutcome => ({ text, failed: false });
export const failed = (text: string): ToolOutcome => ({ text, failed: true });

/** For outcomes that do not depend on the transaction. */
export const withOutcome =
  (outcome: ToolOutcome): Commit =>
  () =>
    Promise.resolve(outcome);
