import { canBeFence, canEndBlock, fenceAt, isFenceEnd, spanLength } from './code.js';
import {
  canBeMark,
  endOfCall,
  hasOpening,
  isCutToken,
  isMentioned,
  type Mark,
  MARK_START,
  markAt,
  needsMore,
} from './marks.js';
import { ANSWER_CLOSE, isOptional, readHeader, startOf } from './templates.js';
import { createVisibleText, type VisiblePiece } from './visible-text.js';

/** Part of the model's text. */
export type Piece =
  | VisiblePiece
  | { type: 'thought'; text: string }
  /** A call in the form in which the model was trained to write it. `isClosed`: its end follows. */
  | { type: 'call'; text: string; recipient?: string; isClosed: boolean };

/** Separates what is for the user from what the model writes for its own use. */
export interface PrivateText {
  add(piece: string): Piece[];
  /** @returns the rest, when the step ends */
  end(): Piece[];
}

type Mode =
  | { type: 'text' }
  | { type: 'thought'; close?: RegExp; depth: number; sinceClose?: string; opening: string }
  | { type: 'call'; close: RegExp; opening: string; recipient?: string; text: string; tail: string }
  | { type: 'header'; text: string }
  /** A message of another role, or what stands between messages. */
  | { type: 'dropped' };

const TEXT: Mode = { type: 'text' };
/** Ends of a message body with channels. */
const BODY_END = /<\|(?:end|return|call|start|channel)\|>/;
/** A type parameter in code, such as `Promise<Thought>`. */
const TYPE = /^<[A-Z][a-z]+>$/;
const MAX_HEADER = 400;
/** Characters before a mark that are kept. */
const MAX_SPAN = 400;

export function createPrivateText(): PrivateText {
  let mode: Mode = TEXT;
  let held = '';
  /** Where the last thought or call ended in the text for the user. */
  let boundary = 0;
  let hasHeaders = false;
  /** Fence of the open code block. */
  let fence: { marker: string; body: string; hasOpening: boolean } | undefined;
  let mentioned = false;
  let answerTag = false;
  let afterThought = false;
  const out: Piece[] = [];
  const visible = createVisibleText((piece) => out.push(piece));
  const { show, cut, separate } = visible;

  const think = (text: string): void => void (text !== '' && out.push({ type: 'thought', text }));

  /** Ends a private part. */
  function resume(next: Mode = TEXT): void {
    mode = next;
    boundary = visible.length;
    separate();
  }

  function openThought(opening: string, close?: RegExp): void {
    mode = { type: 'thought', depth: 1, opening, ...(close === undefined ? {} : { close }) };
  }

  function onMark(mark: Mark): void {
    switch (mark.kind) {
      case 'open':
        openThought(mark.text, mark.close);
        return;
      case 'close':
        // The template has put the opening tag into the prompt.
        cut(boundary, true);
        afterThought = true;
        resume();
        return;
      case 'call':
        mode = { type: 'call', close: mark.close ?? BODY_END, opening: mark.text, text: '', tail: '' };
        return;
      case 'header':
        if (!hasHeaders) cut(boundary, true);
        hasHeaders = true;
        mode = { type: 'header', text: mark.text };
        return;
      case 'role':
        resume(mark.role === 'assistant' || mark.role === 'model' ? TEXT : { type: 'dropped' });
        return;
      case 'message-end':
        if (hasHeaders) resume({ type: 'dropped' });
        else separate();
        return;
      case 'token':
        separate();
    }
  }

  /** At a step's start, templates without their special tokens. @returns true if more is needed */
  function atStart(isWhole: boolean): boolean {
    if (!visible.isStart) return false;
    const text = held.trimStart();
    const start = startOf(text, { afterThought, isWhole });
    if (start === undefined) return false;
    if (start.type === 'partial') return true;
    held = text.slice(start.opening.length);
    if (start.type === 'token') return false;
    if (start.type === 'answer') answerTag = true;
    else if (start.type === 'thought') openThought(start.opening, start.close);
    else mode = { ...start, close: BODY_END, text: '', tail: '' };
    return false;
  }

  /** @returns whether more is needed */
  function inFence(isWhole: boolean): boolean {
    if (fence === undefined) return false;
    const end = held.indexOf('\n');
    const rest = end < 0 ? held : held.slice(0, end + 1);
    const bare = rest.trim();
    const isEnd = isFenceEnd(bare, fence.marker);
    if (end < 0 && !isWhole) {
      // Only the block's end, or the end of surrounding thoughts, is waited for.
      if (canEndBlock(bare)) return true;
      // The whole line is known to be code.
      show(rest);
      fence.body += rest;
      held = '';
      return false;
    }
    const mark = markAt(bare, 0);
    const isOwn = visible.line === '';
    const isClose = isOwn && mark?.kind === 'close' && mark.text === bare;
    if (isClose && !(fence.hasOpening ||= hasOpening(fence.body))) {
      fence = undefined;
      held = held.slice(rest.length);
      onMark(mark);
      return false;
    }
    if (isOwn && isEnd) fence = undefined;
    else fence.body += rest;
    show(rest);
    held = held.slice(rest.length);
    return false;
  }

  /** @returns whether more is needed */
  function atBacktick(isWhole: boolean): boolean {
    const length = spanLength(held, isWhole);
    if (length === undefined) return true;
    show(held.slice(0, length));
    held = held.slice(length);
    return false;
  }

  /** @returns whether more is needed */
  function atMark(isWhole: boolean): boolean {
    if (answerTag && ANSWER_CLOSE.test(held)) {
      held = held.replace(ANSWER_CLOSE, '');
      answerTag = false;
      separate();
      return false;
    }
    const mark = markAt(held, 0);
    if (mark === undefined) {
      const isPartial =
        !isWhole &&
        (canBeMark(held) || (answerTag && '</final_answer>'.length > held.length && /^<\/?[a-z_]*>?$/i.test(held)));
      if (isPartial) return true;
      if (isWhole && isCutToken(held)) {
        held = '';
        return false;
      }
      show(held.slice(0, 1));
      held = held.slice(1);
      return false;
    }
    // A longer mark can begin with this one.
    if (!isWhole && canBeMark(held)) return true;
    const after = held.slice(mark.text.length);
    const before = visible.line;
    if (!isWhole && needsMore(before, after) && mark.kind !== 'header') return true;
    const isSame = mark.kind === 'close' && mentioned;
    const isType = mark.kind === 'open' && TYPE.test(mark.text) && /\w$/.test(before);
    const isStruck = mark.text === '</s>' && visible.includes('<s>');
    if (isSame || isType || isStruck || isMentioned(before, after)) {
      mentioned ||= mark.kind === 'open';
      show(mark.text);
      held = after;
      return false;
    }
    held = after;
    onMark(mark);
    return false;
  }

  /** @returns whether more is needed */
  function inText(isWhole: boolean): boolean {
    if (fence !== undefined) return inFence(isWhole);
    if (atStart(isWhole)) return true;
    if (mode.type !== 'text') return false;
    const next = held.search(/[<[◁✿`~]/u);
    if (next !== 0) {
      show(next < 0 ? held : held.slice(0, next));
      held = next < 0 ? '' : held.slice(next);
      return false;
    }
    const start = visible.line;
    const opening = fenceAt(start, held);
    if (opening !== undefined) {
      fence = { marker: opening.marker, body: '', hasOpening: false };
      show(held.slice(0, opening.length));
      held = held.slice(opening.length);
      return false;
    }
    if (!isWhole && canBeFence(start, held)) return true;
    if (held.startsWith('`')) return atBacktick(isWhole);
    if (MARK_START.test(held[0] ?? '')) return atMark(isWhole);
    show(held.slice(0, 1));
    held = held.slice(1);
    return false;
  }

  /** @returns whether more is needed */
  function inThought(thought: Extract<Mode, { type: 'thought' }>, isWhole: boolean): boolean {
    const keep = (text: string): void => {
      think(text);
      if (thought.sinceClose !== undefined) thought.sinceClose += text;
    };
    if (thought.close !== undefined) {
      const found = thought.close.exec(held);
      if (found === null) {
        const kept = isWhole ? 0 : Math.min(held.length, 40);
        keep(held.slice(0, held.length - kept));
        thought.opening += held.slice(0, held.length - kept);
        held = held.slice(held.length - kept);
        return true;
      }
      think(held.slice(0, found.index));
      held = held.slice(found.index + found[0].length);
      afterThought = true;
      resume();
      return false;
    }
    const next = held.search(MARK_START);
    if (next < 0) {
      keep(held);
      thought.opening = (thought.opening + held).slice(-MAX_SPAN);
      held = '';
      return true;
    }
    if (next > 0) {
      keep(held.slice(0, next));
      thought.opening = (thought.opening + held.slice(0, next)).slice(-MAX_SPAN);
      held = held.slice(next);
      return false;
    }
    const mark = markAt(held, 0);
    if (mark === undefined && !isWhole && canBeMark(held)) return true;
    const isQuoted = /["'“‘`]$/u.test(thought.opening);
    const text = mark?.text ?? held.slice(0, 1);
    if (mark !== undefined && mark.kind === 'open' && !isQuoted && /(?:[.!?:>\]▷]\s*|\n\s*)$/u.test(thought.opening))
      thought.depth += 1;
    const isEnd = mark !== undefined && (mark.kind === 'header' || mark.kind === 'message-end' || mark.kind === 'role');
    held = held.slice(text.length);
    thought.opening = (thought.opening + text).slice(-MAX_SPAN);
    if (mark?.kind === 'close' && !isQuoted) {
      thought.depth -= 1;
      if (thought.depth === 0) {
        afterThought = true;
        resume();
        return false;
      }
      thought.sinceClose = '';
      think(text);
      return false;
    }
    if (isEnd && mark !== undefined) {
      afterThought = true;
      resume();
      onMark(mark);
      return false;
    }
    keep(text);
    return false;
  }

  /** @returns whether more is needed */
  function inCall(call: Extract<Mode, { type: 'call' }>, isWhole: boolean): boolean {
    // Only the tail is searched: a long text would be copied for each part of it.
    const { recipient } = call;
    const tail = call.tail + held;
    held = '';
    const end = endOfCall(call.close, tail, isWhole);
    if (end === undefined && !isWhole) {
      call.text += tail.slice(0, -MAX_SPAN);
      call.tail = tail.slice(-MAX_SPAN);
      return true;
    }
    const text = call.text + tail.slice(0, end?.start);
    // A message can begin where a call ends.
    const isMessage = call.close === BODY_END;
    held = end === undefined ? '' : tail.slice(isMessage ? end.start : end.end);
    out.push({
      type: 'call',
      text: isMessage ? text : call.opening + text,
      isClosed: end !== undefined,
      ...(recipient === undefined ? {} : { recipient }),
    });
    resume();
    return false;
  }

  /** @returns whether more is needed */
  function inHeader(header: Extract<Mode, { type: 'header' }>, isWhole: boolean): boolean {
    header.text += held;
    held = '';
    const end = header.text.indexOf('<|message|>');
    if (end < 0 && header.text.length < MAX_HEADER && !isWhole) return true;
    const fields = end < 0 ? header.text : header.text.slice(0, end);
    held = end < 0 ? '' : header.text.slice(end + '<|message|>'.length);
    const { role, channel, recipient } = readHeader(fields);
    if (recipient !== undefined) {
      mode = { type: 'call', close: BODY_END, opening: fields, recipient, text: '', tail: '' };
    } else if (channel === 'analysis') openThought(fields);
    else resume(role === 'assistant' ? TEXT : { type: 'dropped' });
    return false;
  }

  /** @returns whether more is needed */
  function inDropped(isWhole: boolean): boolean {
    const next = held.search(/[<[]/u);
    if (next < 0) {
      held = '';
      return true;
    }
    held = held.slice(next);
    const mark = markAt(held, 0);
    if (mark === undefined && !isWhole && canBeMark(held)) return true;
    held = held.slice(mark?.text.length ?? 1);
    if (mark?.kind === 'header' || mark?.kind === 'role') onMark(mark);
    return false;
  }

  /** Works through what is held. */
  function work(isWhole: boolean): void {
    for (let isWaiting = false; held !== '' && !isWaiting;) {
      switch (mode.type) {
        case 'text':
          isWaiting = inText(isWhole);
          break;
        case 'thought':
          isWaiting = inThought(mode, isWhole);
          break;
        case 'call':
          isWaiting = inCall(mode, isWhole);
          break;
        case 'header':
          isWaiting = inHeader(mode, isWhole);
          break;
        case 'dropped':
          isWaiting = inDropped(isWhole);
      }
    }
  }

  const take = (): Piece[] => out.splice(0);

  return {
    add(piece) {
      // The usual text passes as it is.
      held += piece;
      work(false);
      return take();
    },
    end() {
      work(true);
      if (mode.type === 'call') inCall(mode, true);
      if (mode.type === 'thought') {
        const { sinceClose, close, opening } = mode;
        const rest = close !== undefined && isOptional(close) ? opening : sinceClose;
        mode = TEXT;
        separate();
        // An opening tag within thoughts was none, or the user asked for what only looks like thoughts.
        if (rest !== undefined) {
          held = '';
          show(rest);
        }
      }
      visible.end();
      return take();
    },
  };
}
