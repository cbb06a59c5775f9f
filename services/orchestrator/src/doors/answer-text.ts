import {
  ApiError,
  type ErrorCode,
  ERRORS,
  type MessageData,
  type ServerEventPayload,
  type StreamState,
} from '@uswarm/contract';

type Chunk = Pick<
  ServerEventPayload<'message.chunk'>,
  'message_id' | 'in_reply_to' | 'chunk' | 'generation' | 'offset'
>;

/** A message in an answer. */
export interface AnswerPart {
  readonly id: string;
  readonly text: string;
  /** The text does not change any more. */
  readonly isFinal: boolean;
  /** As the log has it; undefined while only its text is known. */
  readonly message: MessageData | undefined;
  /** Message of the task in which an agent wrote it; undefined for the answer itself. */
  readonly taskId: string | undefined;
}

interface Part extends AnswerPart {
  inReplyTo: string | undefined;
  generation: number;
  text: string;
  isFinal: boolean;
  message: MessageData | undefined;
  taskId: string | undefined;
  /** The card waits for the user. */
  waits: boolean;
  failure: string | null;
}

/** An answer that failed, for a reason that is a code of messages. */
export class AnswerFailure extends ApiError {
  readonly reason: string;

  constructor(reason: string) {
    super(
      isErrorCode(reason) ? reason : 'internal_error',
      isErrorCode(reason) ? {} : { message: `The answer failed: ${reason}.` },
    );
    this.reason = reason;
  }
}

/** An answer's text while it is written: all messages that reply to the question, in the order in which they begin. */
export interface AnswerText {
  /** From now on, other answers are left out. */
  answers(questionId: string): void;
  chunk(chunk: Chunk): void;
  /** A text that is being written, from its beginning. */
  stream(state: StreamState): void;
  /** A message as the log has it. */
  message(message: MessageData, taskId?: string): void;
  /** True if chunks are missing. */
  lacksParts(): boolean;
  /** True if a card asks the user something. */
  waits(): boolean;
  /** The whole text, and the cards that wait. Passes on what is missing. */
  finish(): { text: string; cards: MessageData[]; failure: AnswerFailure | null };
}

export interface AnswerListener {
  /** Receives text that can only be continued: a text that an agent takes back has been sent already. */
  onText?: ((part: string) => void) | undefined;
  /** Receives each message whenever it changes. */
  onPart?: ((part: AnswerPart) => void) | undefined;
}

const SEPARATOR = '\n\n';

export function createAnswerText({ onText, onPart }: AnswerListener): AnswerText {
  const parts = new Map<string, Part>();
  let question: string | undefined;
  let sent = '';
  /** Messages that lack chunks. */
  const gaps = new Set<string>();

  const partOf = (id: string): Part => {
    const known = parts.get(id);
    if (known !== undefined) return known;
    const part: Part = {
      id,
      inReplyTo: undefined,
      generation: 0,
      text: '',
      isFinal: false,
      message: undefined,
      taskId: undefined,
      waits: false,
      failure: null,
    };
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
    onText?.(text.slice(sent.length));
    sent = text;
  }
  function sendWritten(): void {
    const all = ours();
    const open = all.findIndex(({ isFinal }) => !isFinal);
    send(open === -1 ? all : all.slice(0, open + 1));
  }

  function changed(part: Part): void {
    if (question === undefined || part.inReplyTo !== question) return;
    onPart?.(part);
    sendWritten();
  }

  return {
    answers(questionId) {
      question = questionId;
      for (const part of ours()) onPart?.(part);
      sendWritten();
    },
    chunk({ message_id: id, in_reply_to: inReplyTo, chunk, generation, offset }) {
      const part = partOf(id);
      if (part.isFinal || generation < part.generation) return;
      part.inReplyTo = inReplyTo;
      if (generation > part.generation) part.text = '';
      part.generation = generation;
      const at = offset ?? part.text.length;
      if (at > part.text.length) {
        gaps.add(id);
        return;
      }
      part.text = part.text.slice(0, at) + chunk;
      changed(part);
    },
    stream({ message_id: id, in_reply_to: inReplyTo, text, generation }) {
      const part = partOf(id);
      gaps.delete(id);
      if (part.isFinal || generation < part.generation) return;
      if (generation === part.generation && text.length <= part.text.length) return;
      Object.assign(part, { inReplyTo, text, generation });
      changed(part);
    },
    message(message, taskId) {
      const { id, role, content, status, in_reply_to: inReplyTo, error } = message;
      if (role !== 'agent') return;
      const part = partOf(id);
      part.message = message;
      part.taskId = taskId;
      part.inReplyTo = inReplyTo;
      part.isFinal = status === 'delivered' || status === 'failed';
      part.waits =
        content.type === 'action_card' && (content.selected_action_id ?? null) === null && status !== 'failed';
      const failure = status === 'failed' ? (error?.code ?? 'internal_error') : null;
      // The agent has begun again: the answer goes on in another message.
      part.failure = failure === 'withdrawn' ? null : failure;
      if (part.isFinal) gaps.delete(id);
      if (content.type === 'text' && part.isFinal) part.text = content.text;
      if (content.type === 'action_card')
        part.text = [content.title, content.description].filter(Boolean).join(SEPARATOR);
      changed(part);
    },
    lacksParts: () => gaps.size > 0,
    waits: () => ours().some(({ waits }) => waits),
    finish() {
      const all = ours();
      const text = joined(all);
      if (text.startsWith(sent)) send(all);
      else onText?.(`${SEPARATOR}${text}`);
      const cards = all.flatMap(({ waits, message }) => (waits && message !== undefined ? [message] : []));
      const reason = all.find((part) => part.failure !== null)?.failure ?? null;
      return { text, cards, failure: reason === null ? null : new AnswerFailure(reason) };
    },
  };
}

/** A limit has the same code as a refused request. */
const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);
