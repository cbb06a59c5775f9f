import { ApiError, type ErrorCode, ERRORS, type MessageData, type ServerEventPayload } from '@uswarm/contract';

type Chunk = Pick<
  ServerEventPayload<'message.chunk'>,
  'message_id' | 'in_reply_to' | 'chunk' | 'generation' | 'offset'
>;

interface Part {
  inReplyTo: string | undefined;
  generation: number;
  text: string;
  /** The text does not change any more. */
  isFinal: boolean;
  /** The card waits for the user. */
  waits: boolean;
  failure: string | null;
}

/** An answer's text while it is written: all messages that reply to the question, in the order in which they begin. */
export interface AnswerText {
  /** From now on, other answers are left out. */
  answers(questionId: string): void;
  chunk(chunk: Chunk): void;
  /** A message as the log has it. */
  message(message: MessageData): void;
  /** True if a card asks the user something. */
  waits(): boolean;
  /** The whole text. Passes on what is missing. */
  finish(): { text: string; failure: ApiError | null };
}

const SEPARATOR = '\n\n';

/** @param onText receives text that can only be continued: a text that an agent takes back has been sent already */
export function createAnswerText(onText: (part: string) => void): AnswerText {
  const parts = new Map<string, Part>();
  let question: string | undefined;
  let sent = '';

  const partOf = (id: string): Part => {
    const known = parts.get(id);
    if (known !== undefined) return known;
    const part: Part = { inReplyTo: undefined, generation: 0, text: '', isFinal: false, waits: false, failure: null };
    parts.set(id, part);
    return part;
  };
  const ours = (): Part[] => [...parts.values()].filter(({ inReplyTo }) => inReplyTo === question);
  const joined = (texts: readonly Part[]): string =>
    texts
      .map(({ text }) => text)
      .filter((text) => text !== '')
      .join(SEPARATOR);

  /** Texts behind one that is still written must wait for its end. */
  function send(texts: readonly Part[]): void {
    if (question === undefined) return;
    const text = joined(texts);
    if (!text.startsWith(sent) || text.length === sent.length) return;
    onText(text.slice(sent.length));
    sent = text;
  }
  function sendWritten(): void {
    const all = ours();
    const open = all.findIndex(({ isFinal }) => !isFinal);
    send(open === -1 ? all : all.slice(0, open + 1));
  }

  return {
    answers(questionId) {
      question = questionId;
      sendWritten();
    },
    chunk({ message_id: id, in_reply_to: inReplyTo, chunk, generation, offset }) {
      const part = partOf(id);
      if (part.isFinal || generation < part.generation) return;
      part.inReplyTo = inReplyTo;
      if (generation > part.generation) part.text = '';
      part.generation = generation;
      const at = offset ?? part.text.length;
      // A part is missing: the log has the whole text.
      if (at > part.text.length) return;
      part.text = part.text.slice(0, at) + chunk;
      sendWritten();
    },
    message({ id, role, content, status, in_reply_to: inReplyTo, error }) {
      if (role !== 'agent') return;
      const part = partOf(id);
      part.inReplyTo = inReplyTo;
      part.isFinal = status === 'delivered' || status === 'failed';
      part.waits =
        content.type === 'action_card' && (content.selected_action_id ?? null) === null && status !== 'failed';
      part.failure = status === 'failed' ? (error?.code ?? 'internal_error') : null;
      if (content.type === 'text' && part.isFinal) part.text = content.text;
      if (content.type === 'action_card')
        part.text = [content.title, content.description].filter(Boolean).join(SEPARATOR);
      sendWritten();
    },
    waits: () => ours().some(({ waits }) => waits),
    finish() {
      const all = ours();
      const text = joined(all);
      if (text.startsWith(sent)) send(all);
      else onText(`${SEPARATOR}${text}`);
      const code = all.find((part) => part.failure !== null)?.failure ?? null;
      return { text, failure: code === null ? null : failureOf(code) };
    },
  };
}

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** A limit has the same code as a refused request. */
const failureOf = (code: string): ApiError =>
  isErrorCode(code) ? new ApiError(code) : new ApiError('internal_error', { message: `The answer failed: ${code}.` });
