package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// state is what the rules follow from, in a fixed order.
type state struct {
	pods       []*corev1.Pod
	namespaces map[string]labels.Set
	policies   []*netv1.NetworkPolicy
}

// A direction of traffic, seen from the pod that a policy selects.
type direction struct {
	policyType netv1.PolicyType
	name       string
	peer       string // what nftables calls the other end
}

var directions = []direction{
	{netv1.PolicyTypeIngress, "ingress", "ip saddr"},
	{netv1.PolicyTypeEgress, "egress", "ip daddr"},
}

func newState(pods []*corev1.Pod, namespaces []*corev1.Namespace, policies []*netv1.NetworkPolicy) state {
	s := state{namespaces: map[string]labels.Set{}}
	for _, n := range namespaces {
		s.namespaces[n.Name] = n.Labels
	}
	for _, p := range pods {
		if podIP(p) != "" {
			s.pods = append(s.pods, p)
		}
	}
	s.policies = slices.Clone(policies)
	slices.SortFunc(s.pods, byName)
	slices.SortFunc(s.policies, byName)
	return s
}

func byName[T metav1.Object](a, b T) int {
	return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
}

// podIP is "" for a pod that policies do not cover.
func podIP(p *corev1.Pod) string {
	if p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return ""
	}
	for _, a := range p.Status.PodIPs {
		if ip, err := netip.ParseAddr(a.IP); err == nil && ip.Is4() {
			return a.IP
		}
	}
	return ""
}

// ruleset is the nftables text; equal states give equal text.
func (s state) ruleset() string {
	var chains, maps strings.Builder
	for _, d := range directions {
		var elements []string
		for _, pod := range s.pods {
			rules, isolated := s.rulesOf(pod, d)
			if !isolated {
				continue
			}
			chain := d.name + "_" + strings.ReplaceAll(podIP(pod), ".", "_")
			elements = append(elements, podIP(pod)+" : jump "+chain)
			fmt.Fprintf(&chains, "  chain %s { # %s/%s\n", chain, pod.Namespace, pod.Name)
			for _, rule := range append([]string{d.peer + " " + podIP(pod)}, rules...) {
				fmt.Fprintf(&chains, "    %s return\n", rule)
			}
			chains.WriteString("    counter drop\n  }\n")
		}
		fmt.Fprintf(&maps, "  map %s { type ipv4_addr : verdict; ", d.name)
		if len(elements) > 0 {
			fmt.Fprintf(&maps, "elements = { %s }", strings.Join(elements, ", "))
		}
		maps.WriteString("\n  }\n")
	}
	return "add table inet kube_netpol\ndelete table inet kube_netpol\ntable inet kube_netpol {\n" +
		chains.String() + maps.String() + hooks + "}\n"
}

// The input hook is for what pods send to the node.
const hooks = `  chain forward { type filter hook forward priority -5; policy accept;
    ct state established,related accept
    ip saddr vmap @egress
    ip daddr vmap @ingress
  }
  chain input { type filter hook input priority -5; policy accept;
    ct state established,related accept
    ip saddr vmap @egress
  }
`

// rulesOf are the matches that policies allow a pod, and whether any policy is about it at all.
func (s state) rulesOf(pod *corev1.Pod, d direction) (rules []string, isolated bool) {
	for _, policy := range s.policies {
		if policy.Namespace != pod.Namespace || !selects(&policy.Spec.PodSelector, pod.Labels) || !isAbout(policy, d) {
			continue
		}
		isolated = true
		if d.policyType == netv1.PolicyTypeIngress {
			for _, rule := range policy.Spec.Ingress {
				rules = append(rules, s.matches(d, pod, rule.From, rule.Ports)...)
			}
			continue
		}
		for _, rule := range policy.Spec.Egress {
			rules = append(rules, s.matches(d, pod, rule.To, rule.Ports)...)
		}
	}
	return rules, isolated
}

func isAbout(p *netv1.NetworkPolicy, d direction) bool {
	if len(p.Spec.PolicyTypes) == 0 {
		return d.policyType == netv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, d.policyType)
}

func selects(selector *metav1.LabelSelector, set labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(set)
}

// matches are those of one rule: each peer with each port.
func (s state) matches(d direction, pod *corev1.Pod, peers []netv1.NetworkPolicyPeer, ports []netv1.NetworkPolicyPort) (out []string) {
	addresses, peerPods := s.peersOf(d, pod.Namespace, peers)
	if len(ports) == 0 {
		return addresses
	}
	for _, port := range ports {
		if port.Port != nil && port.Port.StrVal != "" {
			out = append(out, namedPortMatches(d, pod, addresses, peerPods, port)...)
			continue
		}
		for _, address := range addresses {
			out = append(out, address+" "+numberedPort(port))
		}
	}
	return out
}

// peersOf returns the addresses of peers, and the pods among them.
func (s state) peersOf(d direction, namespace string, peers []netv1.NetworkPolicyPeer) (addresses []string, pods []*corev1.Pod) {
	if len(peers) == 0 {
		return []string{"meta nfproto ipv4"}, s.pods
	}
	var ips []string
	for _, peer := range peers {
		if peer.IPBlock != nil {
			addresses = append(addresses, blockMatches(d, peer.IPBlock)...)
			continue
		}
		for _, pod := range s.pods {
			if s.isPeer(pod, namespace, peer) {
				pods = append(pods, pod)
				ips = append(ips, podIP(pod))
			}
		}
	}
	if len(ips) > 0 {
		slices.Sort(ips)
		addresses = append(addresses, fmt.Sprintf("%s { %s }", d.peer, strings.Join(slices.Compact(ips), ", ")))
	}
	return addresses, pods
}

func (s state) isPeer(pod *corev1.Pod, namespace string, peer netv1.NetworkPolicyPeer) bool {
	if peer.NamespaceSelector == nil {
		if pod.Namespace != namespace {
			return false
		}
	} else if !selects(peer.NamespaceSelector, s.namespaces[pod.Namespace]) {
		return false
	}
	return peer.PodSelector == nil || selects(peer.PodSelector, pod.Labels)
}

func blockMatches(d direction, block *netv1.IPBlock) []string {
	if prefix, err := netip.ParsePrefix(block.CIDR); err != nil || !prefix.Addr().Is4() {
		return nil
	}
	if len(block.Except) == 0 {
		return []string{d.peer + " " + block.CIDR}
	}
	return []string{fmt.Sprintf("%s %s %s != { %s }", d.peer, block.CIDR, d.peer, strings.Join(block.Except, ", "))}
}

func numberedPort(port netv1.NetworkPolicyPort) string {
	switch {
	case port.Port == nil:
		return "meta l4proto " + protocolOf(port.Protocol)
	case port.EndPort != nil:
		return fmt.Sprintf("%s dport %d-%d", protocolOf(port.Protocol), port.Port.IntVal, *port.EndPort)
	}
	return fmt.Sprintf("%s dport %d", protocolOf(port.Protocol), port.Port.IntVal)
}

// namedPortMatches looks the name up at the receiving end: the pod itself, or each of its peers.
func namedPortMatches(d direction, pod *corev1.Pod, addresses []string, peerPods []*corev1.Pod, port netv1.NetworkPolicyPort) (out []string) {
	protocol, name := protocolOf(port.Protocol), port.Port.StrVal
	if d.policyType == netv1.PolicyTypeIngress {
		for _, number := range portsNamed(pod, protocol, name) {
			for _, address := range addresses {
				out = append(out, fmt.Sprintf("%s %s dport %d", address, protocol, number))
			}
		}
		return out
	}
	for _, peer := range peerPods {
		for _, number := range portsNamed(peer, protocol, name) {
			out = append(out, fmt.Sprintf("%s %s %s dport %d", d.peer, podIP(peer), protocol, number))
		}
	}
	return out
}

func portsNamed(pod *corev1.Pod, protocol, name string) (numbers []int32) {
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, port := range container.Ports {
			if port.Name == name && protocolOf(&port.Protocol) == protocol {
				numbers = append(numbers, port.ContainerPort)
			}
		}
	}
	return numbers
}

func protocolOf(p *corev1.Protocol) string {
	if p == nil || *p == "" {
		return "tcp"
	}
	return strings.ToLower(string(*p))
}
