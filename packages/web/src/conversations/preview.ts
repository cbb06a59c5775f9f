import type { Conversation } from '@uswarm/client';

export function previewOf({ last_message: last }: Pick<Conversation, 'last_message'>): string {
  if (last === null) return 'No messages yet';
  const { content, role, agent, error } = last;
  const author = role === 'user' ? 'You: ' : role === 'agent' && agent ? `${agent.name}: ` : '';
  if (error) return `${author}${error.message}`;
  switch (content.type) {
    case 'loading':
      return `${agent?.name ?? 'An agent'} is writing…`;
    case 'action_card':
      return `${content.selected_action_id ? 'Decided' : 'Waits for you'}: ${content.title}`;
    case 'delegation':
      return `${content.to?.name ?? 'An agent'} works on: ${content.task_preview}`;
    case 'workflow':
      return `Workflow “${content.workflow_name}”: ${content.status}`;
    case 'artifact':
      return `Document “${content.title}”, version ${content.version}`;
    case 'tool_status':
      return content.description;
    default:
      return `${author}${content.text ?? ''}`.replaceAll(/[#*_`>|]+|\s+/g, ' ').trim();
  }
}
