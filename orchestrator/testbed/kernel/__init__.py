"""Interfaces of the Linux kernel: netlink, sysctls, modules, namespaces and system calls."""
