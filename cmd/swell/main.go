// Command swell upgrades fleets of managed Kyma runtimes.
package main

func main() {}
