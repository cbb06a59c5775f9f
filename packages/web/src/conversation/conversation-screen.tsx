import { useMessages } from '../session/use-client.js';

export function ConversationScreen({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }) {
  const messages = useMessages(workspaceId, conversationId);
  return (
    <div role="log" aria-label="Messages" aria-live="off">
      {messages.map(({ key, text }) => (
        <article key={key}>{text}</article>
      ))}
    </div>
  );
}
