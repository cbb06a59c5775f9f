import type { Answer, QuestionField } from '@uswarm/mcp-client';

export type QuestionAnswer = Answer;
export type AnswerContent = Extract<Answer, { action: 'accept' }>['content'];

/** A card's question, as it is stored. */
export interface StoredQuestion {
  fields: readonly QuestionField[];
  /** Answers by action; `null` declines. The action `submit` sends the fields. */
  choices: Readonly<Record<string, AnswerContent | null>>;
}
