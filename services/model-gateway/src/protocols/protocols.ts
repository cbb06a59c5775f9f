import { anthropic } from './anthropic.js';
import { openai } from './openai.js';
import type { Protocol } from './protocol.js';

export const PROTOCOLS: readonly Protocol[] = [openai, anthropic];
