import { Component, type ReactNode } from 'react';

interface Props {
  plain: ReactNode;
  children: ReactNode;
}

/** Shows the plain text if the other form fails: one message must not take the page with it. */
export class OrPlain extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };
  static getDerivedStateFromError = () => ({ hasFailed: true });
  override render(): ReactNode {
    return this.state.hasFailed ? this.props.plain : this.props.children;
  }
}
