/** Tells the agent, and so the user, that some list entries could not be read. @returns no line if there are none */
export const leftOut = (count: number, one: string, several: string): string[] =>
  count === 0
    ? []
    : [`${count} ${count === 1 ? one : several} could not be read and ${count === 1 ? 'is' : 'are'} missing here.`];
