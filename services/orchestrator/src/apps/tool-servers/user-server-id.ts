import { randomInt } from 'node:crypto';

/** Operators' servers cannot have it, so that a server of one kind never gets the tools, settings or tokens of the other. */
export const USER_SERVER_PREFIX = 'own_';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 8;

export const isUserServerId = (id: string): boolean => id.startsWith(USER_SERVER_PREFIX);

/** Random, so that an id is never used again, and short, because it is part of each tool's name. */
export const newUserServerId = (): string =>
  USER_SERVER_PREFIX + Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
