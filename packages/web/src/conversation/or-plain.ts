import { Component, type ReactNode } from 'react';

interface Props {
  plain: ReactNode;
  children: ReactNode;
}

/** Shows plain text if rendering fails, so that one message cannot break the page. */
export class OrPlain extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };
  static getDerivedStateFromError = () => ({ hasFailed: true });
  override render(): ReactNode {
    return this.state.hasFailed ? this.props.plain : this.props.children;
  }
}
