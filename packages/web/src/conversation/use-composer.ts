import { useOutbox } from '@uswarm/client/react';
import {
  useLayoutEffect,
  useRef,
  useState,
  type ChangeEvent,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
} from 'react';
import { useAgents, useClient } from '../session/use-client.js';
import { notify, notifyError } from '../ui/notify.js';
import { usePlace } from './chat.js';
import { useDraft } from './drafts.js';
import { beginsMention, mentionsIn, queryOf, type MentionRange } from './mentions.js';

/** API limits: characters, files, and bytes per file. */
const [MAX_TEXT, MAX_FILES, MAX_BYTES] = [32_000, 20, 25 * 1024 ** 2];

export function useComposer(isWorking: boolean) {
  const { workspaceId, conversationId } = usePlace();
  const client = useClient();
  const agents = useAgents(workspaceId);
  const [text, write] = useDraft(conversationId);
  const { files, problem, add, setFiles } = useFiles();
  const chat = client.workspace(workspaceId).conversation(conversationId);
  const [stopAsked, setStopAsked] = useState(false);
  const unsent = useOutbox(client).findLast((item) => item.conversation_id === conversationId && !item.attempted);
  const { input, mention, place, setMention } = useMention();
  const length = text.length > MAX_TEXT ? [...text].length : 0;
  const excess =
    length > MAX_TEXT ? `${length.toLocaleString('en')} of ${MAX_TEXT.toLocaleString('en')} characters` : '';
  const canSend = (text.trim() !== '' || files.length > 0) && excess === '';
  function offeredFor(written: string, range: MentionRange) {
    const query = queryOf(written, range);
    if (query === undefined) return [];
    return agents.filter(({ name, slug }) => [name.toLowerCase(), slug].some((each) => each.startsWith(query)));
  }

  /** @param steer true if the agent that works reads it at its next step */
  function send(steer = false): void {
    if (!canSend) return;
    // Errors show in the outbox.
    chat.send({ text, files, mentions: mentionsIn(text, agents), steer }).catch(() => undefined);
    write('');
    setFiles([]);
  }
  function stop(): void {
    setStopAsked(false);
    chat.stop().catch(notifyError('The answer could not be stopped'));
  }
  function onEscape(): void {
    if (!isWorking) return;
    if (stopAsked) return stop();
    setStopAsked(true);
    notify({ title: 'Press Esc again to stop the answer' });
  }
  async function takeBack(): Promise<void> {
    if (unsent === undefined) return;
    await client.outbox.cancel(unsent.local_id);
    write(unsent.text);
  }
  /** Replaces a text range. The agent list stays open while it has entries. */
  function replace(start: number, end: number, part: string, mentioned?: MentionRange): void {
    const next = text.slice(0, start) + part + text.slice(end);
    write(next);
    place(start + part.length);
    const isOpen = mentioned !== undefined && offeredFor(next, mentioned).length > 0;
    setMention(isOpen ? mentioned : undefined);
    if (!isOpen) input.current?.focus();
  }

  return {
    files,
    problem,
    excess,
    canSend,
    add,
    send,
    stop,
    remove: (file: File) => setFiles(files.filter((one) => one !== file)),
    mentions: mention && {
      offered: offeredFor(text, mention),
      input,
      close: () => setMention(undefined),
      /** Handles a key pressed while the list has the focus. */
      type(key: string): void {
        const { start, end } = mention;
        if (key === 'Backspace') replace(end - 1, end, '', { start, end: end - 1 });
        else replace(end, end, key, { start, end: end + 1 });
      },
      pick: (slug: string) => replace(mention.start, mention.end, `@${slug} `),
    },
    drop: {
      onDragOver: (event: DragEvent): void => event.preventDefault(),
      onDrop(event: DragEvent): void {
        event.preventDefault();
        add(event.dataTransfer.files);
      },
    },
    field: {
      ref: input,
      value: text,
      onChange({ target, nativeEvent }: ChangeEvent<HTMLTextAreaElement>): void {
        write(target.value);
        const end = target.selectionStart;
        if (beginsMention(target.value, end, nativeEvent)) setMention({ start: end - 1, end });
        else if (mention) setMention({ start: mention.start, end });
      },
      onKeyDown(event: KeyboardEvent): void {
        if (event.nativeEvent.isComposing) return;
        const [first] = mention ? offeredFor(text, mention) : [];
        if (event.key === 'Enter' && !event.shiftKey) {
          event.preventDefault();
          // Until the list is loaded, it cannot have the focus.
          if (mention && first) replace(mention.start, mention.end, `@${first.slug} `);
          else send(isWorking && (event.ctrlKey || event.metaKey));
        } else if (event.key === 'Escape') onEscape();
        else if (event.key === 'ArrowUp' && text === '') void takeBack();
      },
      onPaste(event: ClipboardEvent): void {
        if (event.clipboardData.files.length === 0) return;
        event.preventDefault();
        add(event.clipboardData.files);
      },
    },
  };
}

/** The picked files, and reasons for refusing others. */
function useFiles() {
  const [state, set] = useState<{ files: File[]; problem: string }>({ files: [], problem: '' });
  const setFiles = (files: File[]): void => set({ files, problem: '' });
  function add(more: Iterable<File>): void {
    const picked = [...more];
    const large = picked.filter(({ size }) => size > MAX_BYTES).map(({ name }) => name);
    const files = [...state.files, ...picked.filter(({ size }) => size <= MAX_BYTES)];
    const problems = [
      large.length > 0 && `Larger than 25 MB, and not attached: ${large.join(', ')}.`,
      files.length > MAX_FILES && `A message has at most ${MAX_FILES} files.`,
    ];
    set({ files: files.slice(0, MAX_FILES), problem: problems.filter(Boolean).join(' ') });
  }
  return { ...state, add, setFiles };
}

/** The unfinished mention, and the caret behind it. */
function useMention() {
  const input = useRef<HTMLTextAreaElement>(null);
  const [mention, setMention] = useState<MentionRange>();
  const caret = useRef<number>(undefined);
  const place = (at: number): void => void (caret.current = at);
  // A new value moves the caret to the end.
  useLayoutEffect(() => {
    if (caret.current !== undefined) input.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  });
  return { input, mention, place, setMention };
}
